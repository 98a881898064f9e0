package scheduled

// Through another function, and a timer whose wait is a name.
// expect acknowledged: retry attempts=infinite delay=constant base=1000
func (q *Queue) acknowledged(m *Message, attempt int) {
	_, err := q.client.Send(m)
	if err != nil {
		log.Printf("would retry later, attempt %d", attempt)
		q.acknowledgedLater(m, 1+attempt)
		return
	}
	q.done(m)
}

func (q *Queue) acknowledgedLater(m *Message, attempt int) {
	time.AfterFunc(time.Second, func() {
		q.acknowledged(m, attempt)
	})
}

// expect counted-under-a-name: retry attempts=3 delay=none
func countedUnderAName(c *Client, m *Message, attempt int) error {
	err := c.Send(m)
	if err != nil {
		if attempt >= 3 {
			return err
		}
		next := attempt + 1
		return countedUnderAName(c, m, next)
	}
	return nil
}

func start(c *Client, m *Message) error {
	return countedUnderAName(c, m, 1)
}

// One node after the other, each through the other function: a walk.
func (w *Writer) node(n *Node) error {
	if err := w.client.Send(n.Data); err != nil {
		return err
	}
	return w.children(n)
}

func (w *Writer) children(n *Node) error {
	for _, child := range n.Children {
		if err := w.node(child); err != nil {
			return err
		}
	}
	return nil
}
