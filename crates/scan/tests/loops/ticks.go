package ticks

// expect hosts-in-turn: retry attempts=infinite delay=constant base=2000
func hostsInTurn(ctx context.Context, hosts []string) (net.Conn, error) {
	for {
		for _, host := range hosts {
			conn, err := net.Dial("tcp", host)
			if err == nil {
				return conn, nil
			}
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(2 * time.Second):
		}
	}
}

// What comes first leaves, whatever it is.
func firstOf(rounds []Round) (*Answer, error) {
	for {
		for _, round := range rounds {
			answer, err := round.client.Send(round.question)
			if err != nil {
				return nil, err
			}
			if answer.Last {
				return answer, nil
			}
		}
		time.Sleep(time.Second)
	}
}

// expect told-by-channels: retry attempts=infinite
func (w *watcher) follow(out chan<- Data, pauses func(int) (bool, time.Duration)) {
	var failures int
	for {
		doneCh := make(chan struct{}, 1)
		errCh := make(chan error, 1)
		go w.fetch(doneCh, errCh)
		select {
		case <-doneCh:
			failures = 0
			out <- w.data
			if w.once {
				return
			}
		case err := <-errCh:
			again, pause := pauses(failures)
			if again {
				log.Printf("%s, retry after %s", err, pause)
				select {
				case <-time.After(pause):
					failures++
					continue
				case <-w.stop:
					return
				}
			}
			return
		case <-w.stop:
			return
		}
	}
}

// expect once-told-by-channels: retry attempts=3 delay=constant base=1000
func onceTold(client *Client) error {
	for attempt := 0; attempt < 3; attempt++ {
		results := make(chan Result, 1)
		errs := make(chan error, 1)
		go client.load(results, errs)
		select {
		case <-results:
			return nil
		case err := <-errs:
			log.Print(err)
		}
		time.Sleep(time.Second)
	}
	return errGone
}

// An error ends it, and what was done goes on to the next.
func workers(client *Client) error {
	for {
		results := make(chan Result, 1)
		errs := make(chan error, 1)
		go client.load(results, errs)
		select {
		case <-results:
		case err := <-errs:
			return err
		}
	}
}
