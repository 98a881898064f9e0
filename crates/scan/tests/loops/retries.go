package shapes

// expect H17: retry attempts=4 delay=exponential base=100 schedule=100,200,400 jitter=none wasted
func h17() (err error) {
	backoff := 100 * time.Millisecond
	for i := 0; i < 4; i++ {
		if err = do(); err == nil {
			return nil
		}
		time.Sleep(backoff)
		backoff *= 2
	}
	return err
}

const maxRetries = 3

// expect H18: retry attempts=4 delay=linear base=50 schedule=50,100,150 jitter=none
func h18() (err error) {
	for i := 0; i <= maxRetries; i++ {
		if i > 0 {
			time.Sleep(time.Duration(50*i) * time.Millisecond)
		}
		if err = do(); err == nil {
			break
		}
	}
	return err
}

// expect H19: retry attempts=5 delay=exponential jitter=full wasted
func h19(ctx context.Context, base time.Duration) (err error) {
	for attempt := range 5 {
		if err = call(ctx); err == nil {
			return nil
		}
		d := time.Duration(rand.Int63n(int64(base << attempt)))
		select {
		case <-time.After(d):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return err
}

// expect H20: retry attempts=3 delay=none jitter=none
func h20(req *http.Request) {
	tries := 0
again:
	resp, err := client.Do(req)
	if err != nil && tries < 2 {
		tries++
		goto again
	}
	use(resp)
}

// expect H21: retry attempts=6 delay=exponential base=1000 schedule=1000,2000,4000,8000,16000 jitter=none
func h21(obj Object) error {
	n := 0
	for {
		err := put(obj)
		if err == nil || !isTemporary(err) || n >= 5 {
			return err
		}
		time.Sleep((1 << n) * time.Second)
		n++
	}
}

// expect H22: retry attempts=dynamic expression=n delay=exponential jitter=additive
func again22(n int, d time.Duration, f func() error) error {
	if err := f(); err != nil {
		if n--; n > 0 {
			time.Sleep(d + time.Duration(rand.Int63n(int64(d)))/2)
			return again22(n, 2*d, f)
		}
		return err
	}
	return nil
}

// expect H23: retry|wait-for-ready attempts=infinite delay=constant base=500 jitter=none
func h23(ctx context.Context) error {
	t := time.NewTicker(500 * time.Millisecond)
	defer t.Stop()
	for {
		if err := ping(ctx); err == nil {
			return nil
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// expect H24: retry attempts=3 delay=none jitter=none
func h24(addr string) (err error) {
	var conn net.Conn
	for i := 1; i <= 3; i++ {
		conn, err = net.Dial("tcp", addr)
		if err != nil {
			log.Println("try", i, err)
			continue
		}
		break
	}
	if err != nil {
		return err
	}
	return use(conn)
}

// The same call again, once.
// expect R03: retry attempts=2 delay=none
func r03(r Repository, blobs []Blob) ([]byte, error) {
	buf, err := r.loadBlob(blobs)
	if err != nil {
		r.forget(blobs)
		buf, err = r.loadBlob(blobs)
	}
	return buf, err
}

// expect R10: retry attempts=4 delay=exponential
func r10(ctx context.Context, seen Set) error {
	delay := initial
	var err error
	for i := range 4 {
		if i != 0 {
			if err := pause(ctx, delay); err != nil {
				return err
			}
			delay *= 2
		}
		fresh := seen.Clone()
		err = fetchAll(ctx, seen, func(id ID, err error) error {
			fresh.Insert(id)
			return err
		})
		seen = fresh
		if err == nil {
			return nil
		}
	}
	return err
}

// expect R65: retry attempts=infinite delay=constant base=2000 deadline=60000
func r65(path string) error {
	deadline := time.Now().Add(time.Minute)
	for {
		if time.Now().After(deadline) {
			return errors.New("too late")
		}
		err := store.CreateLock(path)
		if err == nil {
			return nil
		}
		if !os.IsExist(err) {
			return err
		}
		time.Sleep(2 * time.Second)
	}
}

// expect R67: retry attempts=2 delay=none
func r67(r *Repo, id ID, buf []byte) ([]byte, error) {
	buf, err := r.loadBlob(id, buf)
	if err != nil {
		for _, pack := range r.packs(id) {
			_ = r.cache.Forget(pack)
		}
		buf, err = r.loadBlob(id, buf)
	}
	return buf, err
}

// expect R68: retry attempts=4 delay=constant base=5000
func r68(c *Client, id int) error {
loop:
	for attempt := 0; attempt <= 3; attempt++ {
		ready := c.fetchReview(id)
		switch ready.Status {
		case isReady:
			break loop
		case isTransient:
			if attempt == 3 {
				return errors.New("not ready after retries")
			}
			time.Sleep(5 * time.Second)
			continue
		case hasFailed:
			return errors.New("never ready")
		}
	}
	return nil
}

// expect R69: retry attempts=dynamic delay=exponential
func r69(opts Options, f func(int) error) error {
	interval := opts.initial
	for i := 0; ; i++ {
		err := f(i)
		if err == nil {
			return err
		}
		if opts.attempts > 0 && i >= opts.attempts-1 {
			return err
		}
		time.Sleep(interval)
		interval *= 2
	}
}

// A helper of another file says how long.
// expect R71: retry attempts=3 delay=exponential
func r71(c *Client) error {
	var err error
	for attempt := 1; attempt <= 3; attempt++ {
		if err = c.Send(); err == nil {
			return nil
		}
		delay := util.BackoffFor(attempt)
		time.Sleep(delay)
	}
	return err
}

// expect R72: retry attempts=3 delay=dynamic
func r72(c *Client) error {
	var err error
	for attempt := 1; attempt <= 3; attempt++ {
		if err = c.Send(); err == nil {
			return nil
		}
		time.Sleep(util.RetryDelay(base, attempt))
	}
	return err
}

var sendLimit, otherLimit int

func init() {
	sendLimit, _ = strconv.Atoi(os.Getenv("SEND_LIMIT"))
	if sendLimit <= 0 {
		sendLimit = 5
	}
}

// expect R73: retry attempts=dynamic delay=exponential base=2000
func r73(c *Client) error {
	var err error
	for i, backoff := 1, 2*time.Second; i <= sendLimit; i, backoff = i+1, backoff*2 {
		if err = c.Send(); err == nil {
			return nil
		}
		if i == sendLimit || err == errStopped {
			break
		}
		time.Sleep(backoff)
	}
	return err
}

// expect R75: retry attempts=2 delay=none
func r75(r *Repo, h Handle, size int64) ([]Blob, error) {
	blobs, _, err := pack.List(r.Key(), backend.ReaderAt(r.backend, h), size)
	if err != nil {
		if r.cache != nil {
			_ = r.cache.Forget(h)
		}
		// retry on error
		blobs, _, err = pack.List(r.Key(), backend.ReaderAt(r.backend, h), size)
	}
	return blobs, err
}

// expect by-channel: retry attempts=3 delay=constant base=1000
func byChannel(c *Client) error {
	for i := 0; i < 3; i++ {
		errs := make(chan error, 1)
		go func() { errs <- c.Send() }()
		select {
		case err := <-errs:
			if err == nil {
				return nil
			}
		case <-time.After(5 * time.Second):
		}
		time.Sleep(time.Second)
	}
	return errGivenUp
}

// The server says when to ask again, and what is asked for its next is still there.
// expect limited-between-pages: retry attempts=infinite delay=server-directed
func limitedBetweenPages(ctx context.Context, c *Client) (all []User, err error) {
	p := c.Users()
	for err == nil {
		p, err = p.Next(ctx)
		if err == nil {
			all = append(all, p.Users...)
		} else if limited, ok := err.(*RateLimitedError); ok {
			select {
			case <-ctx.Done():
				err = ctx.Err()
			case <-time.After(limited.RetryAfter):
				err = nil
			}
		}
	}
	return all, p.Failure(err)
}

// There is no error, and the status says that it did not go well.
// expect only-its-status: retry attempts=infinite delay=constant base=2000
func onlyItsStatus(c *Client, req *Request) (*Response, error) {
	resp, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusTooManyRequests {
		time.Sleep(2 * time.Second)
		return onlyItsStatus(c, req)
	}
	return resp, nil
}

// expect kept-as-a-flag: retry attempts=3 delay=none
func keptAsAFlag(client *http.Client, req *Request) (resp *Response, err error) {
	ok := false
	for n := 0; !ok && n < 3; n++ {
		resp, err = client.Do(req)
		ok = err == nil
	}
	return
}

// expect sent-back: retry attempts=4 delay=dynamic
func sentBack(c *Client, job *Job, jobs chan *Job) {
	if err := c.Run(job); err != nil {
		if job.Attempts < 3 {
			job.Attempts++
			jobs <- job
		}
	}
}

// expect put-back-by-its-branch: retry attempts=infinite delay=none
func (w *Worker) putBack(key string) {
	err := w.sync(key)
	if err != nil {
		w.queue.Add(key)
		return
	}
	w.done(key)
}

// What is handed in says itself whether to go on.
// expect says-whether-to-go-on: retry attempts=dynamic delay=constant base=1000
func saysWhetherToGoOn(limit int, f func(int) (bool, error)) (err error) {
	var goOn bool
	for i := 0; ; i++ {
		again, err := f(i)
		goOn = again
		if !again {
			return err
		}
		if i >= limit-1 {
			break
		}
		time.Sleep(time.Second)
	}
	log.Println(goOn)
	return err
}

// expect by-its-constant: retry attempts=4 delay=constant base=1000
func byItsConstant(c *Client, m Mail) error {
	for i := 0; i < 4; i++ {
		switch c.Deliver(m) {
		case mailDone:
			return nil
		case mailRetry:
			time.Sleep(time.Second)
		case mailRefused:
			return errRefused
		}
	}
	return errGivenUp
}

// The time that is left is counted down by each wait.
// expect time-left: retry attempts=dynamic
func timeLeft(c *Client, timeout, interval time.Duration) error {
	for left := timeout; left > 0; {
		if err := c.Publish(); err == nil {
			return nil
		}
		time.Sleep(interval)
		left -= interval
	}
	return errTooLate
}

// The limit of one attempt is what is left of all.
// expect less-each-time: retry attempts=dynamic
func lessEachTime(c *Client, o Options, m *Msg) (*Msg, error) {
	answer, err := c.conn.Request(m, o.ttl)
	for n, left := 0, o.ttl; errors.Is(err, ErrNobody) && n < o.retries; n++ {
		time.Sleep(o.pause)
		left -= o.pause
		if left <= 0 {
			return nil, ErrTooLate
		}
		answer, err = c.conn.Request(m, left)
	}
	return answer, err
}

// Where there is no error it is not one of that type.
// expect type-of-the-error: retry attempts=10 delay=linear base=1
func typeOfTheError(name string) (info Info, err error) {
	for i := 0; i < 10; i++ {
		info, err = os.Lstat(name)
		if err, ok := err.(*os.PathError); ok && err.Err == syscall.EBUSY {
			time.Sleep(time.Duration(i+1) * time.Millisecond)
			continue
		}
		return
	}
	return
}

// expect as-that-error: retry attempts=5 delay=constant base=100
func asThatError(c *Client, q Query) (rows Rows, err error) {
	for i := 0; i < 5; i++ {
		rows, err = c.Query(q)
		var busy *BusyError
		if errors.As(err, &busy) {
			time.Sleep(100 * time.Millisecond)
			continue
		}
		return rows, err
	}
	return rows, err
}

// expect each-tick: retry attempts=6 delay=constant base=2000
func eachTick(c *Client) error {
	ticker := time.NewTicker(2 * time.Second)
	defer ticker.Stop()
	tries := 0
	for range ticker.C {
		if err := c.Register(); err != nil {
			tries++
			if tries > 5 {
				return err
			}
			continue
		}
		return nil
	}
	return nil
}

// A timer does it again as long as the count of the item allows it.
// expect by-a-timer: retry attempts=dynamic expression=w.most delay=constant
func (p *Pool) refused(m *Msg, id string) {
	w := p.waiting(id)
	if m.Status == "nobody" {
		if w.retries < w.most {
			w.retries++
			time.AfterFunc(w.pause, func() {
				if err := p.publish(w.msg); err != nil {
					p.drop(w, err)
				}
			})
			return
		}
		p.drop(w, errNobody)
	}
}

// expect on-another-node: retry attempts=2 delay=none
func onAnotherNode(c *Cluster, req *Request) (*Response, error) {
	client := c.pick(req)
	resp, err := client.Search(req)
	if err != nil {
		retryReq := req.Clone()
		client = c.pickOther(client)
		resp, err = client.Search(retryReq)
	}
	return resp, err
}

// expect a-condition-that-is-handed-in: retry attempts=dynamic
func untilIt(backoff Backoff, condition func() (bool, error)) error {
	for backoff.Steps > 0 {
		if ok, err := condition(); err != nil || ok {
			return err
		}
		if backoff.Steps == 1 {
			break
		}
		time.Sleep(backoff.Step())
	}
	return errTimeout
}

// expect written-after-redial: retry attempts=2 delay=none
func (w *Writer) redialAndWrite(b []byte) (n int, err error) {
	if n, err = w.conn.Write(b); err == nil {
		return
	}
	conn, failed := w.dial()
	if failed != nil {
		return
	}
	if n, err = conn.Write(b); err == nil {
		w.conn.Close()
		w.conn = conn
	}
	return
}

// expect looked-at-again: retry attempts=infinite delay=constant base=30000
func (r *Reconciler) lookedAtAgain(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if err := r.apply(ctx, req); err != nil {
		log.Error(err, "not applied")
		return ctrl.Result{RequeueAfter: 30 * time.Second}, nil
	}
	return ctrl.Result{}, nil
}

// expect put-back-in-the-head: retry attempts=infinite delay=none
func (w *Worker) step(item Item) {
	if err := w.client.Upload(item); err != nil {
		w.queue.Add(item)
	}
}

// expect also-locked: retry attempts=infinite delay=constant base=10000
func (p *Client) again(ctx context.Context, in interface{}) (*http.Response, error) {
	for {
		res, err := p.do(ctx, in)
		if err == ErrOptimisticLock {
			return res, err
		}
		if res != nil {
			if res.StatusCode > 501 {
				time.Sleep(10 * time.Second)
				continue
			}
		} else if err != nil {
			time.Sleep(10 * time.Second)
			continue
		}
		return res, err
	}
}
