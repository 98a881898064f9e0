class Others
{
    // Something else where the first is not there.
    Artist SomethingElse(string name)
    {
        try { return query.FindArtists(name).First(); }
        catch
        {
            Thread.Sleep(100);
            return query.FindBands(name).First();
        }
    }

    // Another file.
    string AnotherFile(string path)
    {
        try { return File.ReadAllText(path); }
        catch (FileNotFoundException) { return File.ReadAllText("default.txt"); }
    }

    // Each cell once.
    void EachCell()
    {
        for (int i = 0; i < 2; i++)
        {
            try { board.Add(new Cell(i)); }
            catch (Exception e) { log(e); }
        }
    }
}
