package numbered

// expect Numbered: retry attempts=dynamic expression=c.retries delay=constant base=500
func (c *Client) Send(req *http.Request) error {
	for i := 1; i <= c.retries; i++ {
		retry, err := c.attempt(req, i)
		if retry {
			time.Sleep(500 * time.Millisecond)
			continue
		}
		return err
	}
	return nil
}

func (c *Client) attempt(req *http.Request, attempt int) (retry bool, err error) {
	resp, err := c.client.Do(req)
	return shouldRetry(resp, err, attempt, c.retries), err
}

// expect Recursion: retry attempts=dynamic expression=c.maxAttempts+1 delay=constant base=1000
func (c *Client) do(req *http.Request, attempt int) (*http.Response, error) {
	resp, err := c.http.Do(req)
	if err != nil && attempt < c.maxAttempts {
		time.Sleep(time.Second)
		return c.do(req, attempt+1)
	}
	return resp, err
}

// Of another thing that does something, too.
func (w *Worker) run() {
	for job := range w.jobs {
		w.do(job)
	}
}

// Each page has another number.
func (c *Client) pages(req *http.Request) error {
	for page := 1; page <= c.last; page++ {
		if err := c.page(req, page); err != nil {
			return err
		}
	}
	return nil
}

func (c *Client) page(req *http.Request, number int) error {
	return c.http.Get(req, number)
}
