package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/valyala/fasthttp"
)

// hostileKind is one kind of request that is to do harm.
type hostileKind struct {
	name string
	// requests returns those of a kind, made once and sent in turn.
	requests func(authorization string) [][]byte
	manner   manner
	factor   int // how many times as many as of the others; 0: as many
}

func (k hostileKind) figure() string { return "abuse/" + k.name }

// manner is how a hostile client behaves once it has sent its request.
type manner int

const (
	awaits manner = iota // it reads the response
	holds                // it does nothing more: its body lacks a byte, or it sent none
	drips                // it sends a byte every now and then
	sips                 // it reads a byte every now and then
)

// Sizes of what is sent.
const (
	bombSize  = 60 << 20 // unpacked
	plainSize = 1 << 20
)

// hostileKinds are the kinds of requests, in the order in which they are measured.
func hostileKinds() []hostileKind {
	bomb := func(encoding string, pack func(dst, src []byte) []byte) hostileKind {
		return hostileKind{name: "bomb " + encoding, requests: func(key string) [][]byte {
			return [][]byte{
				post("/console/sign-in/", "", "multipart/form-data; boundary=b", encoding, pack(nil, hostileForm())),
				post("/external/api/v1/stores/", key, "application/json", encoding, pack(nil, wideJSON(bombSize))),
			}
		}}
	}
	return []hostileKind{
		bomb("gzip", fasthttp.AppendGzipBytes),
		bomb("deflate", fasthttp.AppendDeflateBytes),
		bomb("br", fasthttp.AppendBrotliBytes),
		{name: "deep JSON", requests: func(key string) [][]byte {
			return [][]byte{post("/external/api/v1/stores/", key, "application/json", "", deepJSON(plainSize))}
		}},
		{name: "wide JSON", requests: func(key string) [][]byte {
			return [][]byte{post("/external/api/v1/stores/", key, "application/json", "", wideJSON(plainSize))}
		}},
		{name: "slow read", manner: sips, requests: func(key string) [][]byte {
			known := "GET /external/api/v1/events/catalogue/ HTTP/1.1\r\nHost: hub\r\nAuthorization: " + key + "\r\n\r\n"
			return [][]byte{
				[]byte("GET /openapi.json HTTP/1.1\r\nHost: hub\r\n\r\n"),
				[]byte(strings.Repeat(known, 20)),
			}
		}},
		{name: "slow write", manner: drips, requests: func(key string) [][]byte {
			whole := post("/external/api/v1/stores/", key, "application/json", "", wideJSON(plainSize))
			return [][]byte{[]byte("POST /channel/api/v1/orders/ HTTP/1.1\r\nHost: hub\r\nX-Slow: "), whole[:len(whole)/2]}
		}},
		{name: "half bodies", manner: holds, requests: func(string) [][]byte {
			whole := post("/channel/api/v1/aggregator-a/callback/order/", "", "application/json", "", wideJSON(plainSize))
			return [][]byte{whole[:len(whole)-1]}
		}},
		{name: "huge headers", requests: func(string) [][]byte {
			return [][]byte{
				[]byte("GET /healthz HTTP/1.1\r\nHost: hub\r\nX-Huge: " + strings.Repeat("x", plainSize) + "\r\n\r\n"),
				[]byte("GET /healthz HTTP/1.1\r\nHost: hub\r\n" + strings.Repeat("X-Many: x\r\n", plainSize/11) + "\r\n"),
			}
		}},
		{name: "connections", manner: holds, factor: 10, requests: func(string) [][]byte { return [][]byte{nil} }},
		{name: "formula cells", requests: func(key string) (all [][]byte) {
			cells := []string{"=1+1", ";=1+1", "＝1+1", "\\t=1+1", "+1", "-1", "@SUM(1)", `=HYPERLINK(\"http://127.0.0.1/\")`}
			for i, cell := range cells {
				body := fmt.Sprintf(`{"stores":[{"ref_id":"F-%d","name":"%s","city":"%s","active":true}]}`, i, cell, cell)
				all = append(all, post("/external/api/v1/stores/", key, "application/json", "", []byte(body)))
			}
			return all
		}},
	}
}

// post is a request with a body, as it goes over the wire.
func post(path, authorization, media, encoding string, body []byte) []byte {
	var text bytes.Buffer
	fmt.Fprintf(&text, "POST %s HTTP/1.1\r\nHost: hub\r\nConnection: close\r\n", path)
	fmt.Fprintf(&text, "Content-Type: %s\r\nContent-Length: %d\r\n", media, len(body))
	for name, value := range map[string]string{"Authorization": authorization, "Content-Encoding": encoding} {
		if value != "" {
			fmt.Fprintf(&text, "%s: %s\r\n", name, value)
		}
	}
	text.WriteString("\r\n")
	text.Write(body)
	return text.Bytes()
}

// hostileForm is one field of bombSize.
func hostileForm() []byte {
	var form bytes.Buffer
	form.WriteString("--b\r\nContent-Disposition: form-data; name=\"email\"\r\n\r\n")
	form.Write(bytes.Repeat([]byte("a"), bombSize))
	form.WriteString("\r\n--b--\r\n")
	return form.Bytes()
}

// wideJSON is as many stores as fit, with nothing in them.
func wideJSON(size int) []byte {
	const before, after = `{"stores":[`, `{}]}`
	return []byte(before + strings.Repeat("{},", (size-len(before)-len(after))/3) + after)
}

// deepJSON is a list of a list of a list.
func deepJSON(size int) []byte {
	return []byte(`{"stores":` + strings.Repeat("[", size/2) + strings.Repeat("]", size/2) + "}")
}
