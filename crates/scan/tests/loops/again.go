package again

type again struct {
	tries int
	most  int
	gap   time.Duration
	ctx   context.Context
}

func (a *again) run(work func(a *again) error) {
	// expect counter_in_a_field: retry attempts=dynamic delay=constant jitter=additive
	for a.tries <= a.most {
		err := work(a)
		if err == nil {
			return
		}
		select {
		case <-a.ctx.Done():
			return
		case <-time.After(a.gap/2 + time.Duration(rand.Int63n(int64(a.gap)))):
			a.tries++
		}
	}
}

func withBackoff(ctx context.Context, most int, work func() bool) {
	pauses := backoff.New(slowest, fastest)
	// expect made_of_a_backoff: retry attempts=dynamic delay=exponential
	for attempt := 0; attempt <= most; attempt++ {
		if work() {
			return
		}
		if attempt == most {
			break
		}
		timer := time.NewTimer(pauses.Next())
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// All of them are sent, and those that fail are counted.
func (a *again) all(items []Item) {
	for a.failures < a.most {
		err := a.client.Send(items[a.failures])
		if err != nil {
			return
		}
		a.failures++
	}
}
