package shapes

var limit = 1

func init() {
	if n, err := strconv.Atoi(os.Getenv("LIMIT")); err == nil {
		limit = n
	}
}

// A variable of the package that is set elsewhere is only usually what it begins with.
// expect set-in-init: retry attempts=dynamic usual=1 delay=exponential jitter=none
func (c *Client) list(ctx context.Context) (err error) {
	for attempt := 0; attempt < limit; attempt++ {
		if err = c.ls(ctx); err == nil {
			return nil
		}
		time.Sleep(time.Duration(float64(first) * math.Pow(float64(factor), float64(attempt))))
	}
	return err
}

// expect index: retry attempts=dynamic delay=dynamic base=none
func (c *Client) send(req *http.Request) (*http.Response, error) {
	resp, err := c.http.Do(req)
	for try := 0; try < len(c.RetrySchedule); try++ {
		if err == nil && resp.StatusCode < 500 {
			break
		}
		wait := c.RetrySchedule[try]
		time.Sleep(wait)
		resp, err = c.http.Do(req)
	}
	return resp, err
}

// An answer that says that it failed is there.
// expect limited: retry attempts=3
func (c *Client) limited(req *http.Request) (*http.Response, error) {
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	for i := 1; i < 3 && resp != nil && resp.StatusCode == http.StatusTooManyRequests; i++ {
		after, err := strconv.Atoi(resp.Header.Get("Retry-After"))
		if err != nil {
			break
		}
		time.Sleep(time.Duration(after) * time.Second)
		resp, err = c.http.Do(req)
		if err != nil {
			return nil, err
		}
	}
	return resp, nil
}

// The first time at once, and then always as long.
// expect at-first-at-once: retry attempts=13 delay=constant base=5000
func open() error {
	db, err := orm.Open(driver, dsn)
	if err != nil {
		for i := 1; i <= 12; i++ {
			db, err = orm.Open(driver, dsn)
			if err == nil {
				break
			}
			time.Sleep(5 * time.Second)
		}
	}
	use(db)
	return err
}

// expect jump: retry attempts=2 delay=none
func (c *Client) version(ctx context.Context) (*Version, error) {
	var retried bool
	u := c.endpoint.String()
retry:
	resp, err := c.http.Get(ctx, u)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 400 {
		if !retried && c.retryOnError(resp) {
			retried = true
			goto retry
		}
		return nil, readError(resp)
	}
	return read(resp.Body)
}

// Something waits between the first and the second.
// expect once-more: retry attempts=2 delay=constant base=1000
func migrate(db *DB, table any) {
	if err := db.AutoMigrate(table).Error; err != nil {
		time.Sleep(time.Second)
		if err = db.AutoMigrate(table).Error; err != nil {
			panic(err)
		}
	}
}

func newQueue() *Controller {
	return &Controller{queue: workqueue.NewTypedRateLimitingQueue(
		workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Second, time.Minute))}
}

// expect work-queue: retry attempts=6 delay=exponential base=1000 cap=60000
func (c *Controller) handleErr(err error, key string) {
	if err == nil {
		c.queue.Forget(key)
		return
	}
	if c.queue.NumRequeues(key) < 5 {
		c.queue.AddRateLimited(key)
		return
	}
	c.queue.Forget(key)
}

// Events of others are put into it, and nothing failed.
func (c *Controller) onAdd(obj any) {
	key, err := keyOf(obj)
	if err == nil {
		c.queue.Add(key)
	}
}

// What is asked again and again swallows the error of what it calls.
// expect polled: retry attempts=infinite delay=constant base=5000 deadline=60000
func (l *Lock) get(ctx context.Context) (set *Set, err error) {
	var lastErr error
	err = wait.PollUntilContextTimeout(ctx, 5*time.Second, time.Minute, true, func(ctx context.Context) (bool, error) {
		if set, lastErr = l.client.Get(ctx, l.name); lastErr != nil {
			return false, nil
		}
		return true, nil
	})
	return set, err
}

// It waits until something is there, and an error ends it.
func (l *Lock) ready(ctx context.Context) error {
	return wait.PollUntilContextTimeout(ctx, 5*time.Second, time.Minute, true, func(ctx context.Context) (bool, error) {
		set, err := l.client.Get(ctx, l.name)
		if err != nil {
			return false, err
		}
		return set.Ready, nil
	})
}

// The answer of the last attempt is handed on, for when there is no other.
// expect handed-on: retry
func (rt *retrying) roundTrip(req *http.Request, retry int, prev *http.Response) (*http.Response, error) {
	if retry < 0 {
		return prev, nil
	}
	resp, err := rt.wrapped.RoundTrip(req)
	if err != nil {
		return resp, err
	}
	if resp.StatusCode < 500 {
		return resp, nil
	}
	return rt.roundTrip(req, retry-1, resp)
}
