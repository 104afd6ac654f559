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

// CallbackSecretPlace returns the associated data of a business's sealed callback secret.
func CallbackSecretPlace(business core.BusinessID) string {
	return fmt.Sprintf("businesses/%d/callback_secret", business)
}

// WebhookPlace returns the associated data of a webhook's sealed column. It names the
// business, because the id of a new webhook is not known before it is stored.
func WebhookPlace(business core.BusinessID, column string) string {
	return fmt.Sprintf("webhooks/%d/%s", business, column)
}

// OpenHeaders decrypts the headers of a webhook.
func OpenHeaders(db *postgres.DB, business core.BusinessID, sealed []byte) (map[string]string, error) {
	plain, err := db.Sealer().Open(WebhookPlace(business, "headers"), sealed)
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
	return db.SealIn(ctx, tx, WebhookPlace(business, "headers"), plain)
}

// ReplaceSecret returns the assignments that replace a secret column by ?0, sealed. The
// previous secret signs until ?1. The older one keeps its end if it still signs at ?2.
func ReplaceSecret(column string) string {
	return strings.ReplaceAll(`older_SECRET = CASE WHEN older_SECRET_until > ?2 THEN older_SECRET ELSE old_SECRET END,
		older_SECRET_until = CASE WHEN older_SECRET_until > ?2 THEN older_SECRET_until ELSE old_SECRET_until END,
		old_SECRET = SECRET, old_SECRET_until = ?1, SECRET = ?0`, "SECRET", column)
}
