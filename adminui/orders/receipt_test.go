package orders

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/order"
)

func TestReceiptListsWhatWasOrdered(t *testing.T) {
	var body order.Body
	require.NoError(t, json.Unmarshal([]byte(`{
		"details": {"order_subtotal": 25, "discount": 5, "order_total": 24.5, "payable_amount": 24.5,
			"coupon": "WELCOME", "charges": [{"title": "Packaging", "value": 2}],
			"taxes": [{"title": "VAT", "rate": 10, "value": 2.5}, {"title": "", "rate": null, "value": 0}],
			"ext_platforms": [{"discounts": [
				{"title": "Lunch", "code": "L1", "value": 3, "is_merchant_discount": true}]}]},
		"items": [{"merchant_id": "dal", "title": "Dal", "price": 9.5, "quantity": 2, "total": 25,
			"instructions": "no salt", "line_id": "L-1", "options_to_add": [
				{"merchant_id": "rice", "title": "Rice", "price": 1.5, "quantity": 2, "group": {"title": "Sides"}},
				{"merchant_id": "hot", "title": "", "price": 0, "quantity": 1, "group": {"title": ""},
					"parent": 0, "line_id": "L-2"}]}],
		"payment": [{"option": "cash", "amount": 24.5, "srvr_trx_id": "T-9"}]}`), &body))
	var got []string
	for _, row := range receiptOf(body, "EUR").Rows {
		var cells []string
		for _, cell := range row.Cells {
			text := cell.Text
			if cell.Note != "" {
				text += " (" + cell.Note + ")"
			}
			cells = append(cells, text)
		}
		got = append(got, strings.Join(cells, " | "))
	}
	require.Equal(t, []string{
		"Dal (dal · line L-1 · no salt) | 2 | 9.50 EUR | 25.00 EUR",
		"+ Rice (rice · Sides) | 2 each | 1.50 EUR | ",
		"+ + hot (hot · line L-2) |  | 0.00 EUR | ",
		"Subtotal |  |  | 25.00 EUR",
		"Packaging |  |  | 2.00 EUR",
		"VAT, 10 % |  |  | 2.50 EUR",
		"Tax |  |  | 0.00 EUR",
		"Lunch (L1 · paid by the merchant) |  |  | -3.00 EUR",
		"Discount (WELCOME) |  |  | -2.00 EUR",
		"Total |  |  | 24.50 EUR",
		"Payment: cash (T-9) |  |  | 24.50 EUR",
	}, got)
}

func TestReceiptShowsWhatDiffersFromTheTotal(t *testing.T) {
	var body order.Body
	require.NoError(t, json.Unmarshal([]byte(`{"details": {"order_subtotal": 25, "order_total": 25,
		"payable_amount": 20}}`), &body))
	rows := receiptOf(body, "EUR").Rows
	require.Equal(t, "To pay", rows[len(rows)-1].Cells[0].Text)
	require.Equal(t, "20.00 EUR", rows[len(rows)-1].Cells[3].Text)
}
