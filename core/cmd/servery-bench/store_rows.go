package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// mostStores is how many stores one request may carry.
const mostStores = 5000

// storeRequest is the body of a request of n stores, and where its rows are
// from: the file, repeated under new ref_ids until there are enough, or
// generated where there is no such file.
func storeRequest(file string, n int) (body []byte, origin string, err error) {
	rows, origin, err := storeRows(file)
	if err != nil {
		return nil, "", err
	}
	stores := make([]map[string]json.RawMessage, 0, n)
	for i := range n {
		row, lap := rows[i%len(rows)], i/len(rows)
		if lap > 0 {
			var ref string
			if err := json.Unmarshal(row["ref_id"], &ref); err != nil {
				return nil, "", fmt.Errorf("the ref_id of a store: %w", err)
			}
			again := make(map[string]json.RawMessage, len(row))
			for name, value := range row {
				again[name] = value
			}
			if again["ref_id"], err = json.Marshal(fmt.Sprintf("%s-%d", ref, lap+1)); err != nil {
				return nil, "", err
			}
			row = again
		}
		stores = append(stores, row)
	}
	body, err = json.Marshal(map[string]any{"stores": stores})
	return body, origin, err
}

func storeRows(file string) ([]map[string]json.RawMessage, string, error) {
	var request struct {
		Stores []map[string]json.RawMessage `json:"stores"`
	}
	origin := "real"
	content, err := []byte(nil), fs.ErrNotExist
	if file != "" {
		content, err = os.ReadFile(file)
	}
	if errors.Is(err, fs.ErrNotExist) {
		origin = "generated"
		content, err = generatedStores(mostStores)
	}
	if err != nil {
		return nil, "", err
	}
	if err := json.Unmarshal(content, &request); err != nil {
		return nil, "", fmt.Errorf("reading stores: %w", err)
	}
	if len(request.Stores) == 0 {
		return nil, "", fmt.Errorf("%s holds no stores", file)
	}
	return request.Stores, origin, nil
}

// generatedStores makes a request of stores like those of a real chain: about
// a kilobyte each, most of it opening hours. It is the same every time.
func generatedStores(n int) ([]byte, error) {
	type slot map[string]string
	type timing struct {
		Day   string `json:"day"`
		Slots []slot `json:"slots"`
	}
	days := []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}
	cities := []string{"San Francisco", "Los Angeles", "Palmdale", "Oakland", "San José", "Sacramento", "Fresno", "Long Beach"}
	stores := make([]map[string]any, n)
	for i := range stores {
		zip := fmt.Sprintf("%05d", 90001+i%6000)
		open := fmt.Sprintf("%02d:%02d:00", 5+i%4, 30*(i%2))
		timings := make([]timing, len(days))
		for d, day := range days {
			timings[d] = timing{day, []slot{{"start_time": open, "end_time": fmt.Sprintf("%02d:00:00", 20+(i+d)%4)}}}
		}
		stores[i] = map[string]any{
			"ref_id": fmt.Sprint(10000 + i), "city": cities[i%len(cities)], "name": fmt.Sprintf("%d Harbour Street / %s", 100+i, cities[i%len(cities)]),
			"min_pickup_time": 300 + 60*(i%6), "min_delivery_time": 2700, "contact_phone": fmt.Sprintf("(415) 555-%04d", i%10000),
			"notification_phones": []string{fmt.Sprintf("+1415555%04d", i%10000)}, "min_order_value": 10.5, "hide_from_ui": false,
			"address": fmt.Sprintf("%d Harbour Street, %s %s County, California", 100+i, zip, cities[i%len(cities)]), "zip_codes": []string{zip},
			"geo_longitude": -122.467323 + float64(i%1000)/1000, "geo_latitude": 37.739684 - float64(i%1000)/1000,
			"active": true, "ordering_enabled": true, "timings": timings,
		}
	}
	return json.Marshal(map[string]any{"stores": stores})
}

// payloadSize is the size of a measured event's body.
const payloadSize = 1 << 10

// payload is a body of payloadSize bytes, another for each number.
func payload(n int) []byte {
	body := fmt.Appendf(make([]byte, 0, payloadSize), `{"order":{"details":{"id":%d,"channel":"web","order_state":"Placed"}},"instructions":"`, n)
	for len(body) < payloadSize-2 {
		body = append(body, "leave it at the door "[len(body)%21])
	}
	return append(body, `"}`...)
}
