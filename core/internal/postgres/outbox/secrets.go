package outbox

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
)

// CallbackAssociatedData returns the associated data of a business's sealed callback secret.
func CallbackAssociatedData(business core.BusinessID) string {
	return fmt.Sprintf("businesses/%d/callback_secret", business)
}

// WebhookAssociatedData returns the associated data of a webhook's sealed column. It names the
// business, because the id of a new webhook is not known before it is stored.
func WebhookAssociatedData(business core.BusinessID, column string) string {
	return fmt.Sprintf("webhooks/%d/%s", business, column)
}

// OpenHeaders decrypts the headers of a webhook.
func OpenHeaders(db *postgres.DB, business core.BusinessID, sealed []byte) (map[string]string, error) {
	plain, err := db.Sealer().Open(WebhookAssociatedData(business, "headers"), sealed)
	if err != nil {
		return nil, err
	}
	headers := map[string]string{}
	return headers, json.Unmarshal(plain, &headers)
}

// SealHeaders encrypts the headers of a webhook.
func SealHeaders(ctx context.Context, db *postgres.DB, tx bun.IDB, business core.BusinessID,
	headers map[string]string) ([]byte, error) {
	plain, err := json.Marshal(headers)
	if err != nil {
		panic(fmt.Sprintf("postgres: a map of strings is always JSON: %v", err))
	}
	return db.SealIn(ctx, tx, WebhookAssociatedData(business, "headers"), plain)
}

// ReplaceSecret returns the assignments that replace a secret column by ?0, sealed. The previous
// secret signs until ?1. The one before it keeps its end if it still signs at ?2.
func ReplaceSecret(column string) string {
	return strings.ReplaceAll(`previous_$_2 = CASE WHEN previous_$_2_expires_at > ?2 THEN previous_$_2
		ELSE previous_$ END,
		previous_$_2_expires_at = CASE WHEN previous_$_2_expires_at > ?2 THEN previous_$_2_expires_at
		ELSE previous_$_expires_at END,
		previous_$ = $, previous_$_expires_at = ?1, $ = ?0`, "$", column)
}
