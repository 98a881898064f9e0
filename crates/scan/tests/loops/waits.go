package waits

// expect W61: retry attempts=5 delay=linear base=100 jitter=none
func w61() error {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for attempt := 1; ; attempt++ {
		err := call()
		if err == nil {
			return nil
		}
		if attempt == 5 {
			return err
		}
		ticker.Reset(time.Duration(attempt) * 100 * time.Millisecond)
		<-ticker.C
	}
}

// expect W62: retry attempts=dynamic usual=3 delay=constant base=250 jitter=none
func w62(set func(*options)) error {
	o := options{retryWait: DefaultRetryWait, retries: DefaultRetries}
	set(&o)
	var err error
	for attempt := 0; attempt < o.retries; attempt++ {
		if err = call(); err == nil {
			return nil
		}
		time.Sleep(o.retryWait)
	}
	return err
}

const (
	DefaultRetryWait = 250 * time.Millisecond
	DefaultRetries   = 3
)
