use crate::language::Language;
use crate::lower::tests::{every_prefix_lowers, show};

fn go(text: &str) -> String {
    show(Language::Go, text)
}

#[test]
fn loops_that_count() {
    insta::assert_snapshot!(go("package p
func a() error {
	backoff := 100 * time.Millisecond
	for i := 0; i <= 4; i++ {
		if err = do(); err == nil {
			return nil
		}
		time.Sleep(backoff)
		backoff *= 2
	}
	for range 5 { x-- }
	for i := range n {}
	for i, v := range vs { continue }
	for ; ; {}
	for true {}
	for ok() {}
	return err
}
"));
}

#[test]
fn a_wait_in_a_select() {
    insta::assert_snapshot!(go("package p
func a() (v T, err error) {
	for attempt := range 5 {
		if v, err = call(ctx); err == nil {
			return
		}
		d := time.Duration(rand.Int63n(int64(base << attempt)))
		select {
		case <-time.After(d):
		case r, ok := <-c.first:
			go send(r)
		case out <- 1:
			break
		case <-ctx.Done():
			if closed { break }
			return nil, ctx.Err()
		default:
		}
	}
	return
}
"));
}

#[test]
fn goto_and_labels() {
    insta::assert_snapshot!(go("package p
func a() {
	tries := 0
again:
	resp, err := client.Do(req)
	if err != nil && tries < 2 {
		tries++
		goto again
	}
outer:
	for {
		for { continue outer }
		break outer
	}
}
"));
}

#[test]
fn a_recursive_helper() {
    insta::assert_snapshot!(go("package p
func retry(n int, d time.Duration, f func() error) error {
	if err := f(); err != nil {
		if n--; n > 0 {
			time.Sleep(d + time.Duration(rand.Int63n(int64(d)))/2)
			return retry(n, 2*d, f)
		} else if n < -1 {
			panic(err)
		}
		return err
	}
	return nil
}
"));
}

#[test]
fn switches() {
    insta::assert_snapshot!(go("package p
func a() {
	for {
		switch code := get(); code {
		default:
			return
		case 500:
			fallthrough
		case 502, 503:
			if done { break }
			wait()
		case 200:
			ok()
			break
		}
		switch {
		case err == nil, n > 3:
			return
		case n == 2:
			n++
		default:
			n = 0
		}
		switch {
		case a:
			if b { break }
			c()
		}
		switch e := err.(type) {
		case *net.OpError, Temporary:
			use(e)
		}
	}
}
"));
}

#[test]
fn declarations() {
    insta::assert_snapshot!(go("package p
import \"time\"
import (
	b \"github.com/cenkalti/backoff/v4\"
	. \"x\"
	_ \"y\"
)
const Tries = 3
const (
	A, B = 1, 2
	C time.Duration = 5 * time.Second
)
var conn net.Conn
type Client struct {
	*Base
	retries, max int `json:\"r\"`
}
type Doer interface {
	Do(ctx context.Context, n int) error
}
type Map[T any] map[string]T
func New() *Client {
	c := &Client{Base: nil, retries: 3}
	m := map[string]int{\"a\": 1, \"b\": 2}
	l := []time.Duration{time.Second, 2 * time.Second}
	p := pkg.Policy{Wait: {Min: 1}}
	defer func() { recover() }()
	return c
}
func (c *Client) Do(req *Request, opts ...Option) error {
	return c.inner.Do(req, Wait[int](c.max), l[1:], opts...)
}
"));
}

#[test]
fn a_ticker_and_a_check_after_the_loop() {
    insta::assert_snapshot!(go("package p
func a() error {
	t := time.NewTicker(500 * time.Millisecond)
	defer t.Stop()
	for {
		if err := ping(ctx); err == nil || n >= 5 {
			return nil
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		time.Sleep((1 << n) * time.Second)
	}
	for i := 1; i <= 3; i++ {
		conn, err = net.Dial(addr)
		if err != nil {
			log.Println(i, err)
			continue
		}
		break
	}
	return err
}
"));
}

#[test]
fn near_misses() {
    insta::assert_snapshot!(go("package p
func a() error {
	for !atomic.CompareAndSwapInt32(&l, 0, 1) { runtime.Gosched() }
	for _, u := range mirrors {
		if resp, err = http.Get(u); err == nil { break }
	}
	for len(p) > 0 {
		n, err := w.Write(p)
		if err != nil { return err }
		p = p[n:]
	}
	backoff = min(backoff*2, 30*time.Second)
	return nil
}
"));
}

#[test]
fn broken_syntax() {
    every_prefix_lowers(
        Language::Go,
        "package p
import b \"x/y\"
type C struct { a int }
func (c *C) a(n int) (err error) {
again:
	for i := 0; i < 4; i++ {
		if err = c.do(i); err == nil { return }
		select { case <-time.After(d): case r := <-x: }
	}
	switch { case a: goto again; default: break }
	switch t := v.(type) { case *T: }
	x := &C{a: 1, B: []int{1, 2}}
	return f(func() { l[1:2] }, y...)
}
",
    );
}
