package menu

import "github.com/go-json-experiment/json/jsontext"

// CategoryObject is a category as it is submitted. A nil field was not sent. An empty ParentRefID makes it a top-level
// category.
type CategoryObject struct {
	RefID        *string            `json:"ref_id"`
	Name         *string            `json:"name" check:"1..1000"`
	Description  *string            `json:"description" check:"0..20000"`
	SortOrder    *int64             `json:"sort_order" check:"0.."`
	Active       *bool              `json:"active"`
	ImgURL       *string            `json:"img_url" check:"link"`
	ParentRefID  *string            `json:"parent_ref_id" check:"0..255"`
	Translations []NamedTranslation `json:"translations"`
}

func (o *CategoryObject) refID() *string   { return o.RefID }
func (o *CategoryObject) identity() string { return valueOf(o.RefID) }

var categoryObjectFields = fieldsOf[CategoryObject]()

func (o *CategoryObject) check(c *checker) {
	c.refIDField(o.RefID)
	categoryObjectFields.check(c, o)
	if o.ParentRefID != nil && o.RefID != nil && *o.ParentRefID == *o.RefID {
		c.fail("parent_ref_id", "value", "must not name the category itself")
	}
	translations(c, &o.Translations, "name")
}

// Category is the master record of a category.
type Category struct {
	Ref
	CategoryDetails
	ParentID int64 `json:"-"` // 0 when it has none
}

// CategoryDetails are the fields of the master record that customers see unchanged.
type CategoryDetails struct {
	Name         string         `json:"name"`
	Description  *string        `json:"description,omitzero"`
	SortOrder    int64          `json:"sort_order"`
	ImgURL       *string        `json:"img_url,omitzero"`
	Translations jsontext.Value `json:"translations,omitzero"`
}

func newCategory(refID string) Category { return Category{Ref: Ref{RefID: refID, Active: true}} }

var categoryAssignments = assignmentsOf[Category, CategoryObject](fieldsOf[Ref]().names()...)

func (r *Category) apply(o *CategoryObject, parent int64, flushed bool) (changed bool) {
	changed = categoryAssignments.assign(r, o)
	set(&changed, &r.ParentID, &parent)
	activate(&changed, &r.Active, o.Active, flushed)
	return changed
}

func valueOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
