package menu

import "github.com/go-json-experiment/json/jsontext"

// CategoryObject is a category as it is submitted. A nil field was not sent. An empty ParentRefID makes it a top-level
// category.
type CategoryObject struct {
	RefID        *string            `json:"ref_id"`
	Name         *string            `json:"name"`
	Description  *string            `json:"description"`
	SortOrder    *int64             `json:"sort_order"`
	Active       *bool              `json:"active"`
	ImgURL       *string            `json:"img_url"`
	ParentRefID  *string            `json:"parent_ref_id"`
	Translations []NamedTranslation `json:"translations"`
}

func (o *CategoryObject) refID() *string   { return o.RefID }
func (o *CategoryObject) identity() string { return valueOf(o.RefID) }

func (o *CategoryObject) check(c *checker) {
	c.refIDField(o.RefID)
	c.text("name", o.Name, 1, maxTitle)
	c.text("description", o.Description, 0, maxDescription)
	c.wholeNumber("sort_order", o.SortOrder, 0)
	c.link("img_url", o.ImgURL, false)
	c.text("parent_ref_id", o.ParentRefID, 0, maxRefID)
	if o.ParentRefID != nil && o.RefID != nil && *o.ParentRefID == *o.RefID {
		c.fail("parent_ref_id", "value", "must not name the category itself")
	}
	translations(c, &o.Translations, "name")
}

// Category is the master record of a category.
type Category struct {
	Ref
	Name         string         `json:"name"`
	Description  *string        `json:"description,omitzero"`
	SortOrder    int64          `json:"sort_order"`
	ImgURL       *string        `json:"img_url,omitzero"`
	ParentID     int64          `json:"-"` // 0 when it has none
	Translations jsontext.Value `json:"translations,omitzero"`
}

func newCategory(refID string) Category { return Category{Ref: Ref{RefID: refID, Active: true}} }

func (r *Category) apply(o *CategoryObject, parent int64, flushed bool) (changed bool) {
	set(&changed, &r.Name, o.Name)
	setOptional(&changed, &r.Description, o.Description)
	set(&changed, &r.SortOrder, o.SortOrder)
	setOptional(&changed, &r.ImgURL, o.ImgURL)
	set(&changed, &r.ParentID, &parent)
	setDocument(&changed, &r.Translations, encodeDocument(o.Translations, o.Translations != nil))
	activate(&changed, &r.Active, o.Active, flushed)
	return changed
}

func valueOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
