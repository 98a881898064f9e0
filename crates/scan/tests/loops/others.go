package shapes

// expect N04: reconnect attempts=infinite delay=exponential cap=30000
func n04(ctx context.Context) {
	backoff := time.Second
	for {
		if err := consume(ctx); err != nil {
			log.Println(err)
			time.Sleep(backoff)
			backoff = min(backoff*2, 30*time.Second)
			continue
		}
		backoff = time.Second
	}
}

// N09
func n09(l *int32) {
	for !atomic.CompareAndSwapInt32(l, 0, 1) {
		runtime.Gosched()
	}
}

// N12
func n12(mirrors []string) {
	for _, u := range mirrors {
		if resp, err = http.Get(u); err == nil {
			break
		}
	}
}

// N17
func n17(w io.Writer, p []byte) error {
	for len(p) > 0 {
		n, err := w.Write(p)
		if err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

// N25
func n25() {
	if time.Since(openedAt) > cooldown {
		if err := probe(); err == nil {
			state = closed
		} else {
			cooldown *= 2
			openedAt = time.Now()
		}
	}
}

// N26
func n26(first chan result) result {
	select {
	case r := <-first:
		return r
	case <-time.After(50 * time.Millisecond):
		go send(second)
	}
	return result{}
}
