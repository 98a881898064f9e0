package counted

// expect ended-with-a-code: retry attempts=3 delay=constant base=1000
func endedWithACode(command string) int {
	exitCode := 0
	for attempt := 0; attempt < 3; attempt++ {
		exitCode = start(command)
		if exitCode == 0 {
			break
		}
		time.Sleep(time.Second)
	}
	return exitCode
}
