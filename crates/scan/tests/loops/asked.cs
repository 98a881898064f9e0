class Listener {
    // expect counted-elsewhere: retry attempts=dynamic delay=dynamic
    async Task Take(Channel channel, Note note) {
        var result = await handler.Handle(note);
        if (!result.Failed) { return; }
        note.Delay(result.Until);
        if (note.RetryCount < limit) {
            await service.PublishToRetry(channel, note);
        } else {
            await service.PublishToDead(channel, note);
        }
    }

    // It is only shown.
    void Show(Note note) {
        if (note.RetryCount < limit && note.Failed) {
            view.Send(note);
        }
    }

    // Something else is sent.
    void Tell(Note note, Mail mail) {
        if (note.RetryCount < limit) {
            mails.SendRetry(mail, note.Error == null);
        }
    }

    // expect a-limit-of-the-same-name: retry attempts=dynamic delay=dynamic
    async Task Below(Note note, Options options) {
        var result = await handler.Handle(note);
        if (!result.Failed) { return; }
        if (note.RetryCount < options.RetryCount) {
            await service.PublishToRetry(channel, note);
        }
    }

    // Which of two was tried more often.
    void Newest(List<Note> notes) {
        foreach (var note in notes) {
            if (note.Failed && note.RetryCount > newest.RetryCount) {
                queue.Put(note);
            }
        }
    }
}
