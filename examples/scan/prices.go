// Package prices reads prices from the pricing service.
package prices

import (
	"net/http"
	"time"
)

// Fetch asks until it gets an answer, however long that takes.
func Fetch(client *http.Client, url string) *http.Response {
	for {
		response, err := client.Get(url)
		if err == nil {
			return response
		}
		time.Sleep(100 * time.Millisecond)
	}
}
