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
}
