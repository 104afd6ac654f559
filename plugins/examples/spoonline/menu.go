package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

// Render plans the upload of a menu: a CSV file in a multipart form, which replaces the menu of the store.
func (plugin) Render(_ context.Context, call *sdk.Call, menu *sdk.Menu) (*sdk.Decision, error) {
	table, err := menuTable(call, menu)
	if err != nil {
		return nil, err
	}
	store := menu.GetStore()
	open := "0"
	if store.GetActive() && store.GetOrderingEnabled() {
		open = "1"
	}
	body, contentType, err := upload(table, open)
	if err != nil {
		return nil, err
	}
	id := cmp.Or(store.GetPlatformStoreId(), store.GetRefId())
	decision, err := sdk.Send(&sdk.Plan{Endpoint: api, Method: http.MethodPost,
		Path: "/stores/" + url.PathEscape(id) + "/menu", Body: body, Credentials: []string{partner},
		Headers: map[string]string{"Content-Type": contentType}})
	if err != nil {
		return nil, err
	}
	for _, group := range menu.GetOptionGroups() {
		decision.LeftOut = append(decision.LeftOut, &sdk.PublishError{Entity: "option_group", RefId: group.GetRefId(),
			Code: "unsupported", Message: "Spoonline has no options"})
	}
	return decision, nil
}

// menuTable writes the items of a menu as CSV, in their order.
func menuTable(call *sdk.Call, menu *sdk.Menu) ([]byte, error) {
	s := settings{Delimiter: ";"}
	if err := sdk.ReadSettings(call, &s); err != nil {
		return nil, err
	}
	categories := map[string]string{}
	for _, category := range menu.GetCategories() {
		categories[category.GetRefId()] = category.GetName()
	}
	var out bytes.Buffer
	writer := csv.NewWriter(&out)
	writer.Comma = rune(s.Delimiter[0])
	rows := [][]string{{"sku", "title", "price", "section"}}
	for _, item := range menu.GetItems() {
		section := ""
		if ids := item.GetCategoryRefIds(); len(ids) > 0 {
			section = categories[ids[0]]
		}
		rows = append(rows, []string{item.GetRefId(), item.GetTitle(), item.GetPrice(), section})
	}
	err := writer.WriteAll(rows)
	return out.Bytes(), err
}

// upload builds the multipart form. Its boundary depends on the content alone, because the same request must have the
// same result.
func upload(table []byte, open string) (body []byte, contentType string, err error) {
	digest := sha256.Sum256(table)
	var out bytes.Buffer
	form := multipart.NewWriter(&out)
	if err := form.SetBoundary("menu-" + hex.EncodeToString(digest[:12])); err != nil {
		return nil, "", err
	}
	if err := form.WriteField("open", open); err != nil {
		return nil, "", err
	}
	part, err := form.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {`form-data; name="menu"; filename="menu.csv"`}, "Content-Type": {"text/csv"}})
	if err != nil {
		return nil, "", err
	}
	if _, err := part.Write(table); err != nil {
		return nil, "", err
	}
	err = form.Close()
	return out.Bytes(), form.FormDataContentType(), err
}

// InterpretPublish reads the rejected items from the response, a CSV file with sku and reason.
func (plugin) InterpretPublish(_ context.Context, _ *sdk.Call, response *sdk.Response) (*sdk.PublishOutcome, error) {
	success, again := sdk.ClassifyStatus(response.GetStatus())
	outcome := &sdk.PublishOutcome{State: pb.OutcomeState_OUTCOME_STATE_FAILED}
	switch {
	case again:
		outcome.State = pb.OutcomeState_OUTCOME_STATE_RETRY
	case success:
		outcome.State = pb.OutcomeState_OUTCOME_STATE_DONE
	}
	reader := csv.NewReader(strings.NewReader(string(response.GetBody())))
	reader.Comma, reader.FieldsPerRecord, reader.LazyQuotes = ';', -1, true
	rows, _ := reader.ReadAll() // without a readable body, the status decides
	for _, row := range rows {
		if len(row) == 2 && row[0] != "sku" {
			outcome.Errors = append(outcome.Errors, &sdk.PublishError{Entity: "item", RefId: row[0], Code: "rejected",
				Message: row[1]})
		}
	}
	return outcome, nil
}
