package customers

import (
	"bufio"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/customer"
)

// Erase erases the personal data of a customer, if there are still as many orders as the form showed.
func (p Pages) Erase(c *fiber.Ctx, v *shell.PageContext) error {
	subject, err := subjectOf(c)
	if err != nil {
		return err
	}
	extent, err := p.Finder.CustomerExtent(c.UserContext(), v.Business.ID, subject)
	if err != nil {
		return err
	}
	shown, err := strconv.Atoi(shell.Field(c, "orders"))
	if err != nil || shown != extent.ToErase() {
		return core.Errorf(core.Conflict, text.CustomerEraseChanged, ui.Count(shown, text.OneOrder, text.Orders_),
			ui.Count(extent.ToErase(), text.OneOrder, text.Orders_))
	}
	if err := p.Eraser.EraseCustomer(c.UserContext(), v.Business.ID, subject,
		v.Change(c, "customer.erase")); err != nil {
		return err
	}
	return shell.RedirectDone(c, v.Link(Path), "erasing")
}

// exportTimeout bounds an export.
const exportTimeout = 5 * time.Minute

// Export downloads what is stored about a customer. It reads one order at a time.
func (p Pages) Export(c *fiber.Ctx, v *shell.PageContext) error {
	subject, err := subjectOf(c)
	if err != nil {
		return err
	}
	orders, err := p.Exporter.ExportCustomer(c.UserContext(), v.Business.ID, subject, v.Change(c, "customer.export"))
	if err != nil {
		return err
	}
	if err := ui.File(c, customer.ExportName(subject), nil); err != nil {
		return err
	}
	business, at := v.Business.ID, v.Now
	c.Context().SetBodyStreamWriter(func(w *bufio.Writer) {
		ctx, cancel := context.WithTimeout(context.Background(), exportTimeout)
		defer cancel()
		p.write(ctx, w, export{business, subject, at, orders})
	})
	return nil
}

// export is the file of an export.
type export struct {
	business core.BusinessID
	subject  customer.Subject
	at       time.Time
	orders   []int64
}

// write writes the file. After an error the file ends with it, and is no valid JSON.
func (p Pages) write(ctx context.Context, w *bufio.Writer, e export) {
	fmt.Fprintf(w, `{"business":%d,"customer":%q,"exported_at":%q,"orders":[`, e.business, e.subject,
		e.at.UTC().Format(time.RFC3339))
	separator := ""
	for _, id := range e.orders {
		order, err := p.Exporter.ExportOrder(ctx, e.business, id)
		if core.CodeOf(err) == core.NotFound { // past the retention meanwhile
			continue
		}
		var encoded []byte
		if err == nil {
			encoded, err = json.Marshal(order, json.Deterministic(true))
		}
		if err == nil {
			_, err = fmt.Fprintf(w, "%s%s", separator, encoded)
			separator = ","
		}
		if err == nil {
			err = w.Flush() // fails when the user has closed the connection
		}
		if err != nil {
			_, _ = w.WriteString("\nthe export was interrupted")
			_ = w.Flush()
			return
		}
	}
	_, _ = w.WriteString("]}\n")
	_ = w.Flush()
}
