"""A point of sale on Servery: Python 3.9 or later, the standard library alone.

    BASE=https://hub.example.com KEY=USERNAME:API_KEY LISTEN=0.0.0.0:9100 HOOKS=https://pos.example.com python3 pos.py

It subscribes to every event, sends a store and its menu, switches some of them off and on, and then takes
orders: gives each a number of its own and moves it from state to state. HOOKS is where the hub reaches LISTEN.
ORDERS ends it after so many orders. SECRETS is the file that keeps the signing secrets. TAX is a tax on every item,
by a code of the business's country: TAX=ST_P,"Sales Tax",8.25 in the United States.
"""

import base64
import collections
import hashlib
import hmac
import http.server
import json
import os
import queue
import threading
import time
import urllib.error
import urllib.request

EVENTS = ["order_placed", "order_status_update", "rider_status_update", "inventory_update", "store_creation",
          "store_action", "item_state_toggle", "catalogue_timing_grp", "option_state_toggle", "hub_menu_publish",
          "order_items_oos_processed", "webhook_retry", "feature_action",
          "order_released", "order_updated", "store_platform_status"]
WAIT = 120  # seconds for a callback


class Hub:
    """Calls the hub, again where it asks for patience."""

    def __init__(self, base, key):
        self.base, self.key = base.rstrip("/"), key

    def call(self, method, path, body=None):
        content = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": "apikey " + self.key, "Content-Type": "application/json"}
        for attempt in range(8):
            request = urllib.request.Request(self.base + path, method=method, data=content, headers=headers)
            try:
                with urllib.request.urlopen(request, timeout=30) as answer:
                    return json.load(answer)
            except urllib.error.HTTPError as refused:
                with refused:
                    received = refused.read().decode()
                if refused.code not in (429, 503):
                    raise SystemExit(f"{method} {path}: {refused.code} {received}")
                wait = int(refused.headers.get("Retry-After") or 2 ** attempt)
            except OSError as gone:
                received, wait = str(gone), 2 ** attempt
            print(f"{method} {path}: again in {wait} s")
            time.sleep(wait)
        raise SystemExit(f"{method} {path}: {received}")


class Receiver:
    """Takes the hub's deliveries: each is verified, and kept once."""

    def __init__(self, listen, hooks, secrets):
        self.file, self.secrets, self.seen = secrets, {}, set()
        if os.path.exists(secrets):
            with open(secrets) as kept:
                self.secrets = json.load(kept)
        self.orders = queue.Queue()
        self.received, self.news = collections.deque(maxlen=1000), threading.Condition()
        host, port = listen.rsplit(":", 1)
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(receiver.take(self.path.strip("/").split("/")[-1], self.headers, body))
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *args):
                pass

        server = http.server.ThreadingHTTPServer((host, int(port)), Handler)
        self.address = (hooks or f"http://{host}:{server.server_port}").rstrip("/")
        threading.Thread(target=server.serve_forever, daemon=True).start()

    def keep(self, event, secret):
        self.secrets[event] = secret
        with open(os.open(self.file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as kept:
            json.dump(self.secrets, kept)

    def take(self, event, headers, body):
        """Returns the status to answer with: what is not 2xx is sent again later."""
        secret = self.secrets.get(event)
        if secret is None:
            return 503  # the webhook is being made this moment
        if not genuine(secret, headers["webhook-id"], headers["webhook-timestamp"], headers["webhook-signature"], body):
            print(f"{event}: the signature is wrong")
            return 401
        payload, test = json.loads(body), headers.get("X-Event-Test") == "true"
        with self.news:
            if headers["webhook-id"] in self.seen:
                return 200
            self.seen.add(headers["webhook-id"])  # a real one keeps them in a file, for 30 days
            if event == "order_placed" and not test:
                self.orders.put(payload)
            else:
                self.received.append((event + " test" if test else event, payload))
            self.news.notify_all()
        return 200

    def wait(self, event, holds=lambda received: True):
        """Waits for a delivery of an event of which something holds."""
        deadline = time.monotonic() + WAIT
        with self.news:
            while True:
                for received in self.received:
                    if received[0] == event and holds(received[1]):
                        self.received.remove(received)
                        return received[1]
                if not self.news.wait(max(0, deadline - time.monotonic())):
                    raise SystemExit(f"no {event} in {WAIT} s")

    def outcome(self, event, reference):
        """Waits for the callback of a request. Stores and menus name it `reference`, the others `reference_id`."""
        return self.wait(event, lambda body: reference in (body.get("reference"), body.get("reference_id")))


def genuine(secret, id, timestamp, signatures, body):
    key = base64.b64decode(secret[len("whsec_"):])
    if not key or abs(time.time() - int(timestamp)) > 300:  # anyone can sign with an empty key
        return False
    signed = f"{id}.{timestamp}.".encode() + body
    expected = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return any(hmac.compare_digest(expected, s) for s in signatures.split())


class POS:
    def __init__(self, hub, receiver, tax):
        self.hub, self.receiver, self.number, self.taxes = hub, receiver, 0, []
        if tax:
            code, title, percent = tax.split(",")
            self.taxes = [
                {"code": code, "title": title, "structure": {"value": float(percent)}, "item_ref_ids": ["all"]}]

    def subscribe(self):
        answer = self.hub.call("POST", "/external/api/v1/webhooks/bulk/", {"webhooks": [{
            "event_type": event, "url": f"{self.receiver.address}/{event}", "retrial_interval_units": "seconds",
            "headers": {"X-Till": "1"}} for event in EVENTS]})
        for made in answer["webhooks"]:
            event = made["event_type"]
            path = f"/external/api/v1/webhooks/{made['webhook_id']}/"
            if "secret" not in made and event not in self.receiver.secrets:  # it exists, and its secret was lost
                made = self.hub.call("POST", path + "rotate/")
            if "secret" in made:
                self.receiver.keep(event, made["secret"])
            self.hub.call("POST", path + "test/")
            self.receiver.wait(event + " test")
            print("subscribed to", event)

    def send_store(self):
        answer = self.hub.call("POST", "/external/api/v1/stores/", {"stores": [{
            "ref_id": "P-1", "name": "Pier Street", "city": "Oakland", "address": None, "min_pickup_time": 600,
            "excluded_platforms": []}]})
        complain(self.receiver.outcome("store_creation", answer["reference"])["stores"])
        print("the store is there")

    def send_menu(self, location, menu):
        answer = self.hub.call("POST", f"/external/api/v1/inventory/locations/{location}/", menu)
        received = self.receiver.outcome("inventory_update", answer["reference"])
        for objects in menu:
            if isinstance(menu[objects], list):
                complain(received[objects])
        print("menu of", location, json.dumps(received["stats"]))

    def send_menus(self):
        kinds = ("categories", "items", "option_groups", "options", "taxes", "charges")
        unflushed = {f"flush_{kind}": None for kind in kinds}
        self.send_menu("-1", {
            **unflushed,
            "categories": [{"ref_id": "mains", "name": "Mains"}],
            "items": [{"ref_id": ref, "title": ref.title(), "price": price, "category_ref_ids": ["mains"],
                       "food_type": 1, "description": None}
                      for ref, price in (("dal", 9.5), ("naan", 2.25), ("soup", 4))],
            "option_groups": [{"ref_id": "heat", "title": "Heat", "min_selectable": 0, "max_selectable": 1,
                               "item_ref_ids": ["dal"]}],
            "options": [{"ref_id": "hot", "title": "Hot", "price": 0.5, "opt_grp_ref_ids": ["heat"]}],
            "taxes": self.taxes,
        })
        options = [{"ref_id": "hot", "price": 0.5}]
        items = [{"ref_id": ref, "price": 5} for ref in ("dal", "naan", "soup")]
        self.send_menu("P-1", {**unflushed, "items": items, "options": options})
        # What the shop sells now, and nothing else: the soup goes.
        items = [{"ref_id": "dal", "price": 10.25}, {"ref_id": "naan", "price": 2.5}]
        self.send_menu("P-1", {"flush_items": True, "flush_options": True, "items": items, "options": options})

    def switch(self, path, body, events):
        """Switches items or the store off and on, and waits for the word of one platform on each."""
        for action in ("disable", "enable"):
            answer = self.hub.call("POST", path, {
                "location_ref_id": "P-1", "action": action, "turn_on_at": None, **body})
            for event in events:
                self.receiver.outcome(event, answer["reference_id"])
            print(action, path)

    def switch_off_and_on(self):
        self.switch("/hub/api/v1/items/", {"item_ref_ids": ["naan"], "option_ref_ids": ["hot"]},
                    ["item_state_toggle", "option_state_toggle"])
        self.switch("/hub/api/v1/location/", {"platforms": ["web"]}, ["store_action"])

    def serve(self, order):
        details = order["order"]["details"]
        self.number += 1
        path = f"/external/api/v1/orders/{details['id']}/"
        self.hub.call("PUT", path, {"reference_id": f"TILL-{self.number}"})
        for state in ("Acknowledged", "Food Ready", "Dispatched", "Completed"):
            extra = {"prep_time_mins": 20} if state == "Acknowledged" else None
            self.hub.call("PUT", path + "status/", {"new_status": state, "message": None, "extra": extra})
            self.receiver.wait("order_status_update",
                               lambda body: (body["order_id"], body["new_state"]) == (details["id"], state))
        print(f"order {details['id']} of {details['channel']} is done: TILL-{self.number}")


def complain(objects):
    for one in objects:
        if one["upipr_status"]["error"]:
            raise SystemExit(f"{one.get('ref_id')}: {one['upipr_status']['err_msg']}")


def main():
    receiver = Receiver(os.environ.get("LISTEN", "127.0.0.1:9100"), os.environ.get("HOOKS"),
                        os.environ.get("SECRETS", "pos-secrets.json"))
    pos = POS(Hub(os.environ["BASE"], os.environ["KEY"]), receiver, os.environ.get("TAX"))
    pos.subscribe()
    pos.send_store()
    pos.send_menus()
    pos.switch_off_and_on()
    print("open for orders", flush=True)
    while pos.number != int(os.environ.get("ORDERS", -1)):
        pos.serve(receiver.orders.get())


if __name__ == "__main__":
    main()
