package main

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"time"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

// menuUpload is a menu in Deliveroo's format. Each store has a separate menu.
type menuUpload struct {
	Name    string   `json:"name"`
	SiteIDs []string `json:"site_ids"`
	Menu    content  `json:"menu"`
}

type content struct {
	Categories []category `json:"categories"`
	Items      []item     `json:"items"`
	Modifiers  []modifier `json:"modifiers"`
	Mealtimes  []mealtime `json:"mealtimes"`
}

// texts has a text by language.
type texts map[string]string

type category struct {
	ID          string   `json:"id"`
	Name        texts    `json:"name"`
	Description texts    `json:"description,omitempty"`
	ItemIDs     []string `json:"item_ids"`
}

type item struct {
	ID          string   `json:"id"`
	Name        texts    `json:"name"`
	Description texts    `json:"description,omitempty"`
	PLU         string   `json:"plu"` // returns as pos_item_id of an order
	Type        string   `json:"type"`
	Price       price    `json:"price_info"`
	Image       *image   `json:"image,omitempty"`
	ModifierIDs []string `json:"modifier_ids"`
}

// The types of items.
const (
	typeItem   = "ITEM"
	typeChoice = "CHOICE"
)

type price struct {
	Price json.Number `json:"price"` // in the smallest unit of the currency
}

type image struct {
	URL string `json:"url"`
}

type modifier struct {
	ID         string   `json:"id"`
	Name       texts    `json:"name"`
	ItemIDs    []string `json:"item_ids"`
	Min        int64    `json:"min_selection"`
	Max        int64    `json:"max_selection"`
	Repeatable bool     `json:"repeatable"`
}

type mealtime struct {
	ID          string   `json:"id"`
	Name        texts    `json:"name"`
	CategoryIDs []string `json:"category_ids"`
	Schedule    []day    `json:"schedule"`
}

type day struct {
	Day     int      `json:"day_of_week"` // 0 is Monday
	Periods []period `json:"time_periods"`
}

type period struct {
	Start string `json:"start"`
	End   string `json:"end"`
}

// optionPrefix keeps ids of options apart from those of items. Deliveroo has one list of both.
const optionPrefix = "option:"

// menuRenderer converts a menu for one site.
type menuRenderer struct {
	settings
	digits int
}

func (r menuRenderer) text(text string) texts {
	if text == "" {
		return nil
	}
	return texts{r.Language: text}
}

// Render plans the upload of a menu, which replaces that of the store.
func (plugin) Render(_ context.Context, call *sdk.Call, menu *sdk.Menu) (*sdk.Decision, error) {
	s, err := brandSettings(call)
	if err != nil {
		return nil, err
	}
	site := cmp.Or(menu.GetStore().GetPlatformStoreId(), menu.GetStore().GetRefId())
	digits, _ := sdk.MinorDigits(cmp.Or(call.GetCurrency(), menu.GetStore().GetCurrency()))
	body, err := menuRenderer{s, digits}.menu(site, menu)
	if err != nil {
		return nil, err
	}
	path := "/menu/v1/brands/" + url.PathEscape(s.Brand) + "/menus/" + url.PathEscape(menuID(site))
	steps := []*sdk.Step{{Name: "menu", Endpoint: api, Method: http.MethodPut, Path: path, PlanBody: true}}
	if s.OpeningHours {
		hours := sdk.JSONStep("hours", http.MethodPost, api, sitePath("/site/v1", s, site)+"/opening_hours",
			openingHours(menu.GetStore().GetTimings()))
		steps = append(steps, hours)
	}
	for _, step := range steps {
		step.Credentials = []string{partner}
		step.Headers = map[string]string{"Content-Type": "application/json"}
	}
	plan := sdk.Steps(steps...)
	plan.Body = sdk.JSON(body)
	decision, err := sdk.Send(plan)
	if err != nil {
		return nil, err
	}
	decision.LeftOut = leftOut(menu)
	if s.OpeningHours && len(menu.GetStore().GetSpecialTimings()) > 0 {
		decision.LeftOut = append(decision.LeftOut, &sdk.PublishError{Entity: "store",
			RefId: menu.GetStore().GetRefId(), Code: "special_hours", Message: "hours of single dates are not sent",
			Severity: pb.FindingSeverity_FINDING_SEVERITY_WARNING})
	}
	return decision, nil
}

// menuID is the id of the menu of a site.
func menuID(site string) string { return "servery-" + site }

// menu converts the whole menu.
func (r menuRenderer) menu(site string, menu *sdk.Menu) (*menuUpload, error) {
	body := &menuUpload{Name: menu.GetStore().GetName(), SiteIDs: []string{site},
		Menu: content{Categories: []category{}, Items: []item{}, Modifiers: []modifier{}}}
	for _, i := range menu.GetItems() {
		amount, err := sdk.MinorUnits("the price of an item", i.GetPrice(), r.digits)
		if err != nil {
			return nil, err
		}
		body.Menu.Items = append(body.Menu.Items, item{ID: i.GetRefId(), Name: r.text(i.GetTitle()),
			Description: r.text(i.GetDescription()), PLU: i.GetRefId(), Type: typeItem, Price: price{amount},
			Image: imageOf(i.GetImgUrl()), ModifierIDs: nonNil(i.GetOptionGroupRefIds())})
	}
	for _, o := range menu.GetOptions() {
		amount, err := sdk.MinorUnits("the price of an option", o.GetPrice(), r.digits)
		if err != nil {
			return nil, err
		}
		body.Menu.Items = append(body.Menu.Items, item{ID: optionPrefix + o.GetRefId(), Name: r.text(o.GetTitle()),
			Description: r.text(o.GetDescription()), PLU: o.GetRefId(), Type: typeChoice, Price: price{amount},
			Image: imageOf(o.GetImgUrl()), ModifierIDs: nonNil(o.GetNestedOptGrps())})
	}
	body.Menu.Modifiers = r.modifiers(menu)
	body.Menu.Categories = r.categories(menu)
	body.Menu.Mealtimes = r.mealtimes(body.Menu.Categories, menu)
	return body, nil
}

func (r menuRenderer) modifiers(menu *sdk.Menu) []modifier {
	options := map[string][]string{}
	for _, o := range menu.GetOptions() {
		for _, group := range o.GetOptGrpRefIds() {
			options[group] = append(options[group], optionPrefix+o.GetRefId())
		}
	}
	list := []modifier{}
	for _, g := range menu.GetOptionGroups() {
		most := g.GetMaxSelectable()
		if most < 0 {
			most = int64(len(options[g.GetRefId()]))
		}
		list = append(list, modifier{ID: g.GetRefId(), Name: r.text(g.GetTitle()),
			ItemIDs: nonNil(options[g.GetRefId()]), Min: g.GetMinSelectable(), Max: most,
			Repeatable: g.GetMultiOptionsEnabled()})
	}
	return list
}

// categories are those with items. Deliveroo has no subcategories, so each category lists its own items.
func (r menuRenderer) categories(menu *sdk.Menu) []category {
	items := map[string][]string{}
	for _, i := range menu.GetItems() {
		for _, ref := range i.GetCategoryRefIds() {
			items[ref] = append(items[ref], i.GetRefId())
		}
	}
	list := []category{}
	for _, c := range menu.GetCategories() {
		if len(items[c.GetRefId()]) > 0 {
			list = append(list, category{ID: c.GetRefId(), Name: r.text(c.GetName()),
				Description: r.text(c.GetDescription()), ItemIDs: items[c.GetRefId()]})
		}
	}
	return list
}

// weekdays has the days of the hub in the order of Deliveroo's numbers.
var weekdays = []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}

// mealtimes has one mealtime for all categories that are always on sale, and one for each other category.
func (r menuRenderer) mealtimes(shown []category, menu *sdk.Menu) []mealtime {
	always := mealtime{ID: "all-day", Name: r.text("All day"), CategoryIDs: []string{}, Schedule: allDay()}
	list := []mealtime{}
	for _, c := range menu.GetCategories() {
		if !slices.ContainsFunc(shown, func(s category) bool { return s.ID == c.GetRefId() }) {
			continue
		}
		if len(c.GetTimings()) == 0 {
			always.CategoryIDs = append(always.CategoryIDs, c.GetRefId())
			continue
		}
		list = append(list, mealtime{ID: "mealtime-" + c.GetRefId(), Name: r.text(c.GetName()),
			CategoryIDs: []string{c.GetRefId()}, Schedule: scheduleOf(c.GetTimings())})
	}
	if len(always.CategoryIDs) > 0 {
		list = slices.Insert(list, 0, always)
	}
	return list
}

func allDay() []day {
	list := []day{}
	for n := range weekdays {
		list = append(list, day{n, []period{{"00:00", "23:59"}}})
	}
	return list
}

func scheduleOf(timings []*pb.Timing) []day {
	list := []day{}
	for n, name := range weekdays {
		if periods := periodsOf(timings, name); len(periods) > 0 {
			list = append(list, day{n, periods})
		}
	}
	return list
}

// periodsOf returns the hours of a day. A slot that ends on the next day keeps its two times.
func periodsOf(timings []*pb.Timing, name string) (list []period) {
	for _, t := range timings {
		for _, slot := range t.GetSlots() {
			if t.GetDay() == name {
				list = append(list, period{clock(slot.GetStartTime()), clock(slot.GetEndTime())})
			}
		}
	}
	return list
}

// clock returns HH:MM of HH:MM:SS.
func clock(text string) string {
	at, err := time.Parse(time.TimeOnly, text)
	if err != nil {
		return text
	}
	return at.Format("15:04")
}

type hoursUpload struct {
	Hours []siteDay `json:"opening_hours"`
}

type siteDay struct {
	Day     string   `json:"day_of_week"`
	Periods []period `json:"time_periods"`
}

// openingHours converts the hours of a store. A store without timings is always open.
func openingHours(timings []*pb.Timing) hoursUpload {
	schedule := scheduleOf(timings)
	if len(timings) == 0 {
		schedule = allDay()
	}
	upload := hoursUpload{[]siteDay{}}
	for _, d := range schedule {
		upload.Hours = append(upload.Hours, siteDay{weekdays[d.Day], d.Periods})
	}
	return upload
}

// leftOut lists what Deliveroo's format cannot express.
func leftOut(menu *sdk.Menu) (list []*sdk.PublishError) {
	for _, i := range menu.GetItems() {
		if len(i.GetCategoryRefIds()) == 0 {
			list = append(list, &sdk.PublishError{Entity: "item", RefId: i.GetRefId(), Code: "no_category",
				Message:  "customers see only items of a category",
				Severity: pb.FindingSeverity_FINDING_SEVERITY_WARNING})
		}
	}
	for _, c := range menu.GetCharges() {
		list = append(list, &sdk.PublishError{Entity: "charge", RefId: c.GetCode(), Code: "unsupported",
			Message: "Deliveroo's menu has no charges"})
	}
	return list
}

func imageOf(address string) *image {
	if address == "" {
		return nil
	}
	return &image{address}
}

func nonNil(list []string) []string { return append([]string{}, list...) }

// menuDeadline is how long Deliveroo may take to process a menu.
const menuDeadline = 2 * time.Hour

// InterpretPublish interprets the response to a menu. Deliveroo reports the outcome by a webhook.
func (plugin) InterpretPublish(_ context.Context, _ *sdk.Call, response *sdk.Response) (*sdk.PublishOutcome, error) {
	outcome := outcomeOf(response)
	if outcome.GetState() == pb.OutcomeState_OUTCOME_STATE_DONE {
		return sdk.Pending("", menuDeadline), nil
	}
	return outcome, nil
}

// menuResult is the outcome of an upload.
type menuResult struct {
	Status int      `json:"http_status"`
	Sites  []string `json:"site_ids"`
	Errors []struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"errors"`
}

// reportMenu translates the outcome of the latest menu of a site.
func reportMenu(result menuResult) (*sdk.Translation, error) {
	if len(result.Sites) != 1 {
		return sdk.Ignored("a menu of the hub has one site")
	}
	outcome := outcomeOf(&sdk.Response{Status: int32(result.Status)})
	report := &sdk.ReportedOutcome{Kind: pb.OutcomeKind_OUTCOME_KIND_MENU, PlatformStoreId: result.Sites[0],
		State: outcome.GetState(), Message: outcome.GetMessage()}
	for _, e := range result.Errors {
		report.Errors = append(report.Errors, &sdk.PublishError{Entity: "store", RefId: result.Sites[0], Code: e.Code,
			Message: e.Message})
	}
	return sdk.Reported(report)
}
