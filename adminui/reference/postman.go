package reference

import (
	"net/url"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The parts of Postman's collection format 2.1 in use.
type (
	collection struct {
		Info     collectionInfo       `json:"info"`
		Auth     collectionAuth       `json:"auth"`
		Variable []collectionVariable `json:"variable"`
		Item     []collectionFolder   `json:"item"`
	}
	collectionInfo struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Schema      string `json:"schema"`
	}
	collectionAuth struct {
		Type   string               `json:"type"`
		APIKey []collectionVariable `json:"apikey,omitzero"`
	}
	collectionVariable struct {
		Key         string `json:"key"`
		Value       string `json:"value"`
		Description string `json:"description,omitzero"`
		Disabled    bool   `json:"disabled,omitzero"`
	}
	collectionFolder struct {
		Name        string              `json:"name"`
		Description string              `json:"description"`
		Item        []collectionRequest `json:"item"`
	}
	collectionRequest struct {
		Name    string         `json:"name"`
		Request requestDetails `json:"request"`
	}
	requestDetails struct {
		Method      string               `json:"method"`
		Description string               `json:"description"`
		Auth        *collectionAuth      `json:"auth,omitzero"`
		Header      []collectionVariable `json:"header"`
		URL         requestURL           `json:"url"`
		Body        *requestBody         `json:"body,omitzero"`
	}
	requestURL struct {
		Raw      string               `json:"raw"`
		Host     []string             `json:"host"`
		Path     []string             `json:"path"`
		Query    []collectionVariable `json:"query"`
		Variable []collectionVariable `json:"variable"`
	}
	requestBody struct {
		Mode string `json:"mode"`
		Raw  string `json:"raw"`
	}
)

// channelKey prefixes the variables of the API key with scope channel.
const channelKey = "channel_"

// apiKeyAuth returns the authorization with variables of the given prefix.
func apiKeyAuth(prefix string) collectionAuth {
	value := "apikey {{" + prefix + "username}}:{{" + prefix + "api_key}}"
	return collectionAuth{"apikey",
		[]collectionVariable{{Key: "key", Value: "Authorization"}, {Key: "value", Value: value},
			{Key: "in", Value: "header"}}}
}

// postmanCollection returns a collection with a folder per tag and a request per example. The base URL and the two
// keys are variables.
func postmanCollection(d *document, base string) ([]byte, error) {
	c := collection{
		Info: collectionInfo{d.Info.Title, d.Info.Description,
			"https://schema.getpostman.com/json/collection/v2.1.0/collection.json"},
		Auth: apiKeyAuth(""),
		Variable: []collectionVariable{
			{Key: "base", Value: base}, {Key: "username", Description: "of the POS's API key"}, {Key: "api_key"},
			{Key: channelKey + "username", Description: "of an API key of a channel"}, {Key: channelKey + "api_key"},
		},
	}
	for _, tag := range d.Tags {
		folder := collectionFolder{tag.Name, tag.Description, nil}
		for _, path := range d.Paths {
			for _, o := range path.value.operations() {
				if len(o.Tags) == 0 || o.Tags[0] != tag.Name {
					continue
				}
				requests, err := d.requests(o, path)
				if err != nil {
					return nil, err
				}
				folder.Item = append(folder.Item, requests...)
			}
		}
		if len(folder.Item) > 0 {
			c.Item = append(c.Item, folder)
		}
	}
	return json.Marshal(c, jsontext.WithIndent("  "), json.FormatNilSliceAsNull(false))
}

// requests returns the requests of an operation, one per example of its body.
func (d *document) requests(o httpOperation, path orderedEntry[pathItem]) ([]collectionRequest, error) {
	details := requestDetails{Method: o.method, Description: o.Description, URL: requestURL{Host: []string{"{{base}}"}}}
	if o.Security != nil {
		details.Auth = &collectionAuth{Type: "noauth"}
	} else if o.Scope == "channel" {
		auth := apiKeyAuth(channelKey)
		details.Auth = &auth
	}
	for _, part := range strings.Split(strings.TrimPrefix(path.name, "/"), "/") {
		if name, isParameter := strings.CutPrefix(part, "{"); isParameter {
			part = ":" + strings.TrimSuffix(name, "}")
		}
		details.URL.Path = append(details.URL.Path, part)
	}
	var query []string
	for _, listed := range append(path.value.Parameters, o.Parameters...) {
		p, err := d.parameter(listed)
		if err != nil {
			return nil, err
		}
		v := collectionVariable{Key: p.Name, Description: p.Description, Disabled: p.In != "path" && !p.Required}
		if len(p.Example) > 0 {
			v.Value = plainValue(p.Example)
		}
		switch p.In {
		case "path":
			details.URL.Variable = append(details.URL.Variable, v)
		case "query":
			details.URL.Query = append(details.URL.Query, v)
			if !v.Disabled {
				query = append(query, p.Name+"="+url.QueryEscape(v.Value))
			}
		case "header":
			details.Header = append(details.Header, v)
		}
	}
	details.URL.Raw = "{{base}}/" + strings.Join(details.URL.Path, "/")
	if len(query) > 0 {
		details.URL.Raw += "?" + strings.Join(query, "&")
	}
	if o.RequestBody == nil || len(o.RequestBody.Content) == 0 {
		return []collectionRequest{{o.Summary, details}}, nil
	}
	content := o.RequestBody.Content[0]
	details.Header = append(details.Header, collectionVariable{Key: "Content-Type", Value: content.name})
	bodies := examplesOf(content.value)
	var list []collectionRequest
	for _, body := range bodies {
		request, name := details, o.Summary
		request.Body = &requestBody{"raw", body.text}
		if len(bodies) > 1 {
			name += ": " + body.title
		}
		list = append(list, collectionRequest{name, request})
	}
	if len(list) == 0 {
		list = []collectionRequest{{o.Summary, details}}
	}
	return list, nil
}
