package p

// expect Made: retry attempts=10 delay=constant base=1000
func made(config *Config) (cache.Cache, error) {
	retry := 10
	var found cache.Cache
	var err error
	for {
		found, err = cache.New(config, options)
		if err == nil {
			break
		}
		retry--
		if retry == 0 {
			break
		}
		logger.Warn("no cache, need retry")
		time.Sleep(time.Second)
	}
	return found, err
}
