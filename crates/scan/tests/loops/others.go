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

// The same question again under the lock, in case another has answered it.
func n62(s *Store) (Token, error) {
	token, err := s.loadToken()
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		// Load it again, another may have refreshed it.
		token, err = s.loadToken()
	}
	return token, err
}

// The same question again under a lock that is a file.
func n67(client *Client, path string) (Token, error) {
	token, err := client.LoadToken(path)
	if err != nil {
		if err = acquireLockFile(path); err != nil {
			return token, err
		}
		// Attempt to load it, another may have written it.
		token, err = client.LoadToken(path)
	}
	return token, err
}

// Another one was faster, so that what it made is taken.
func n76(c *Controller, name string) (*Item, error) {
	item, err := c.manager.GetByName(name)
	if err == nil {
		return item, nil
	}
	if err = c.manager.Create(name); err != nil {
		if !isConflict(err) {
			return nil, err
		}
		// If it was a conflict, try to get it again.
		item, err = c.manager.GetByName(name)
		if err != nil {
			return nil, err
		}
	}
	return item, nil
}

// Until there is nothing left; what failed is left for another round that retries.
func n77(client *Client) error {
	for {
		members, err := client.SPopN("outdated", 100)
		if err != nil {
			return err
		}
		if len(members) == 0 {
			break
		}
		work(members)
	}
	return nil
}

// Each takes another one from the channel.
func drain(jobs <-chan Job, c *Client) {
	for job := range jobs {
		if err := c.Send(job); err != nil {
			log.Println(err)
		}
	}
}

// Handed on to the next stage, and to who writes errors down.
func stages(c *Client, job *Job, next chan *Job, failed chan *Job) {
	if err := c.Run(job); err != nil {
		failed <- job
		return
	}
	next <- job
}

// Each page once; an error ends it.
func allOnce(c *Client) (all []Item, err error) {
	p := c.Items()
	for err == nil {
		p, err = p.Next()
		all = append(all, p.Items...)
	}
	return all, err
}

// What was asked for goes to the queue at once; nothing failed.
func (w *Worker) enqueue(key string) {
	if err := w.check(key); err == nil {
		w.queue.Add(key)
	}
}

// Each round goes to the next one, which is kept in a field.
func (nc *Conn) dialAny() error {
	var err error
	for i := 0; i < len(nc.servers); i++ {
		nc.current = nc.servers[i]
		if err = nc.createConn(); err == nil {
			break
		}
	}
	return err
}

// The second time for good, and not for a while: another request.
func (s *Service) addMapping(c *Client, protocol string, duration int) error {
	body := render(protocol, duration)
	_, err := c.Request(body)
	if err != nil && duration > 0 && code(err) == 725 {
		return s.addMapping(c, protocol, 0)
	}
	return err
}

// Nothing is done again: what is over its limit is only dropped later.
func (p *Pool) countOnly(w *Waiting) {
	if w.retries < w.most {
		w.retries++
		time.AfterFunc(w.pause, func() { log.Println(w.retries) })
	}
}

// A name of a list that is gone through, whose items are handed in.
func sendAll(c *Client, retryable []Item) {
	for _, item := range retryable {
		if err := c.Send(item); err != nil {
			log.Println(err)
		}
	}
}

// Whether there is more to do, and not whether it failed.
func untilNothingIsLeft(c *Client) {
	for {
		shouldContinue := c.Sync()
		if !shouldContinue {
			return
		}
		time.Sleep(time.Second)
	}
}

// Not ready yet, and nothing failed.
func (r *Reconciler) whenReady(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	obj, err := r.get(ctx, req)
	if err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !obj.Ready {
		return ctrl.Result{RequeueAfter: 10 * time.Second}, nil
	}
	return ctrl.Result{RequeueAfter: time.Hour}, nil
}

// What is not there yet is waited for.
func (r *Reconciler) whenThere(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if err := r.get(ctx, req); err != nil {
		if apierrors.IsNotFound(err) {
			return ctrl.Result{RequeueAfter: 10 * time.Second}, nil
		}
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, nil
}

// To two places.
func (w *Writer) twice(b []byte) (int, error) {
	n, err := w.conn.Write(b)
	if err != nil {
		return n, err
	}
	tee := w.dial()
	m, err := tee.Write(b)
	return n + m, err
}

// As long as the handler wants to go on.
func stepwise(steps int, handle func(int) (bool, error)) error {
	for steps > 0 {
		more, err := handle(steps)
		if err != nil {
			return err
		}
		if !more {
			break
		}
		steps--
	}
	return nil
}
