package a

// expect given-back: reconnect attempts=infinite delay=constant
func watch(ctx context.Context, links chan *Link) {
	for {
		select {
		case link := <-links:
			if err := restart(ctx, link); err != nil {
				log.Error(err)
				time.Sleep(wait)
				links <- link
			}
		case <-ctx.Done():
			return
		}
	}
}

// What goes to others is told to them.
func tell(ctx context.Context, links chan *Link, results chan *Link) {
	for link := range links {
		if err := restart(ctx, link); err != nil {
			results <- link
		}
	}
}

// expect given-an-error: retry attempts=infinite delay=none
func (h *handler) retryClosed(err error, op any) bool {
	if err != nil && errors.Is(err, ErrClosed) {
		go func() {
			h.requestCh <- op
		}()
		return true
	}
	return false
}

// The error is what is sent.
func (h *handler) report(err error, op any) {
	if err != nil {
		h.requestCh <- err
	}
}

// expect AskedAbove: retry expression=message.RetryCount>=limit
func (c *Consumer) askedAbove(message *Message) {
	if err := c.handle(message); err != nil {
		if message.RetryCount >= limit {
			c.dead(message)
		} else {
			c.queue.Publish(message)
		}
	}
}
