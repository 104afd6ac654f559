package body

import (
	"context"
	"mime"
	"net/url"

	"github.com/valyala/fasthttp"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/limit"
)

const formType = "application/x-www-form-urlencoded"

// Form returns the fields of a form. It rejects other media types and compressed forms, which no browser sends.
func Form(ctx context.Context, c *fasthttp.RequestCtx, maxBytes Limit, share *limit.Reservation) (url.Values, error) {
	header := &c.Request.Header
	switch length := header.ContentLength(); {
	case length == 0:
		return url.Values{}, nil
	case length > maxBytes.Bytes:
		return nil, TooLarge(maxBytes.Bytes)
	}
	if len(header.Peek(fasthttp.HeaderContentEncoding)) > 0 {
		return nil, core.Errorf(core.UnsupportedMedia, "a form must not have a Content-Encoding")
	}
	if media, _, err := mime.ParseMediaType(string(header.ContentType())); err != nil || media != formType {
		return nil, core.Errorf(core.UnsupportedMedia, "send the form with the header Content-Type: "+formType)
	}
	sent, err := Read(ctx, c, maxBytes, share)
	if err != nil {
		return nil, err
	}
	return ParseForm(sent)
}

// ParseForm parses the fields of a form.
func ParseForm(sent []byte) (url.Values, error) {
	fields, err := url.ParseQuery(string(sent))
	if err != nil {
		return nil, core.Errorf(core.Invalid, "the form is not correctly encoded")
	}
	return fields, nil
}
