package bookshop

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"

	"github.com/go-idem/idem/core/httpflow"
)

// answer is what a visitor was answered.
type answer struct {
	status            int
	verdict, to, body string
}

// visitor is somebody with a browser that runs no JavaScript: all he has are the
// page's cookie and the form's fields.
type visitor struct {
	base   string
	client *http.Client
}

func newVisitor(base string) *visitor {
	jar, _ := cookiejar.New(nil) // fails only for options
	return &visitor{base: base, client: &http.Client{
		Jar:           jar,
		Timeout:       patient,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

func (v *visitor) do(method, path, body string, head map[string]string) (answer, error) {
	r, err := http.NewRequest(method, v.base+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	for name, value := range head {
		r.Header.Set(name, value)
	}
	res, err := v.client.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, res.Header.Get(httpflow.StatusHeader), res.Header.Get("Location"), string(text)}, err
}

var tokenField = regexp.MustCompile(`name="idempotent-token" value="([^"]+)"`)

// open opens the page and returns the token in its form.
func (v *visitor) open() (token string, err error) {
	a, err := v.do(http.MethodGet, "/", "", nil)
	if err != nil {
		return "", err
	}
	field := tokenField.FindStringSubmatch(a.body)
	if field == nil {
		return "", fmt.Errorf("the page (%d) has no form with a token", a.status)
	}
	return field[1], nil
}

var scriptTag = regexp.MustCompile(`<script src="([^"]+)"`)

// script does what idem.js does in the page: it is loaded from where the page
// says, and asks for a token by itself.
func (v *visitor) script() (token string, err error) {
	page, err := v.do(http.MethodGet, "/", "", nil)
	if err != nil {
		return "", err
	}
	tag := scriptTag.FindStringSubmatch(page.body)
	if tag == nil {
		return "", errors.New("the page names no script")
	}
	file, err := v.do(http.MethodGet, tag[1], "", nil)
	if err != nil || file.status != http.StatusOK || !strings.Contains(file.body, "createIdem") {
		return "", fmt.Errorf("%s is not idem.js (%d): %w", tag[1], file.status, err)
	}
	a, err := v.do(http.MethodPost, "/idempotency/tokens", `{"operation":"shop:order:create"}`,
		map[string]string{"Content-Type": "application/json", "Sec-Fetch-Site": "same-origin"})
	if err != nil {
		return "", err
	}
	var issued struct{ Token string }
	return issued.Token, json.Unmarshal([]byte(a.body), &issued)
}

// press sends the form.
func (v *visitor) press(token, item string) (answer, error) {
	form := url.Values{"idempotent-token": {token}, "item": {item}}
	return v.do(http.MethodPost, "/orders", form.Encode(), map[string]string{"Content-Type": "application/x-www-form-urlencoded", "Accept": "text/html"})
}

// pressTwice sends the form twice at once, as a double click does.
func (v *visitor) pressTwice(token, item string) (list []answer, err error) {
	type result struct {
		answer
		error
	}
	results := make(chan result)
	for range 2 {
		go func() {
			a, err := v.press(token, item)
			results <- result{a, err}
		}()
	}
	for range 2 {
		r := <-results
		list, err = append(list, r.answer), errors.Join(err, r.error)
	}
	return list, err
}

// customer is the visitor's cookie, under which his orders stand.
func (v *visitor) customer() string {
	base, _ := url.Parse(v.base) // it was requested already
	for _, c := range v.client.Jar.Cookies(base) {
		if c.Name == Cookie {
			return c.Value
		}
	}
	return ""
}

// call uses the JSON API.
func (v *visitor) call(apiKey, key, body string) (answer, error) {
	head := map[string]string{"Content-Type": "application/json", "Authorization": "Bearer " + apiKey}
	if key != "" {
		head["Idempotency-Key"] = key
	}
	return v.do(http.MethodPost, "/api/orders", body, head)
}
