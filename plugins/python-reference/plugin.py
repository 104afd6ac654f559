#!/usr/bin/env python3
"""A plugin of the Servery hub in Python, as an example for languages other than Go.

It needs grpcio and protobuf, but no generated code. The messages come from
DESCRIPTOR, which make generate writes into this file, because a hub runs a copy of
a single file. The rules are the functions check_items, translate and
plan_rider_status. The lower half is go-plugin's handshake and the services that
every plugin has.
"""

import base64
import json
import os
import sys
import tempfile
import threading
import time
import urllib.parse
import zlib
from concurrent import futures
from datetime import datetime, timezone

try:
    import grpc
    from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
except ImportError as missing:
    sys.exit(f"this plugin needs grpcio and protobuf (Debian: python3-grpcio): {missing}")

MAX_MESSAGE = 16 << 20
MAX_MENU = 64 << 20
ORDER_PURPOSE, BEARER = 1, 2

# plugins/proto/descriptor.binpb, compressed with zlib and encoded as base64
DESCRIPTOR = """
eNrMe01sI0d2sJv/fPwRVZ4fDudPbnt25xvbMzvyrD2fHThLSZyR1iNRbkkT29ig0WyWqF71D90/mmGSQ4AYQbCXBHCwh73ksqc97QZITjnlEOQSIAGC
AD7kFCA5BLlls7cgqFdVzSbVpDSSPbs3vlevqrpevf9XhJ9m4FpA/SPqj+4N7WhgufeO7t8zDdu+O/S90COLYvQuH717dF/9KwVyq4ZtkxaUelFguTQI
msqScjurxTAbG9pGuO/5TjOzpNwuazFMLkA+CD2fNrM4wAE2I6BhaLmDoJlbUm5XtRgm34YFq0+doRdS1xzph3TUzOPcegL9ER2xRczI9xnYLPBtJbxy
/7N7Ays8iHp3Tc+5J8719kHUuzfJgeAeHv2DYa9XwF/vwFe1NDYNbcOdyabWXL6qP1agtEZNK7A8l7wNObYWMrGyfPnuscXubtuGu/6KhmTkAuSCQ2vI
+cqwDCLvQ8mm+6HuRWEzu5S9XVm+mbZQ1LOt4KDj+56vFdmEbhSulKHoRaHpOVT95yzk2G6MldTtDz3LDfHDyloMk0tQcGh44PXF3QqIEMgNjfBAXCz+
Jg8h/3lE/VEzhx+lzjjd3Y8ZUccN/ZHGJ5APoXhAjT71g2Ye574xa+46J+Oz5ST2NT2vzwWhquFv8gjqATV9Gupy6eJMXu0gIV9bqwUJKCAPoRhEpslE
v4S3diNtAU6hRTbVJHnrIcD4qKQBWSbNnMHsJ9OOI8OOqGAtB97PPFRa70M1edAXmat+BtXkcdgNcgaI6QJieH5QebMcYtIQUoepsFTbGFb/XIFK4qio
yaERRgFldiF7O6/FMHkNqj8MPFdHOaK+2KXCcNscRW4Cgjr9PDLsQOwGDNVBDLkF9X3LNWw93iWHu9QQuyOQ6l8rUNJoMPTcgOK5cADPm9cERFbGMpZB
Qbidco9ylRPkLDuWs3Pd1Z8p0NhgrBj6NNTo5xENQvIm5Jj5mGMjmE3WkIi8ByVffDMuX1m+OudYWkzM2GSYoeW5gu0CUn+iQF2Yji43FOS7zIozcWBf
VE9VIEHKboRqnJo0oejQIDAG8uASJO9BgTKzFJzWfAly9RCqSTw7BHVDK5TsFhC5CAWf7uuWtFp5n+5voNEyvb4Ua/yd/MrcxFfe+VKBavJc5Dpc6e7t
rnY3O/rObnu3o+9t7Wx3VjcebXTWGq+QS0Amh9e6W52GQppwYRL/qL3xpLPWyJArcHFyZLuztbax9biRJZfh1ckhrbOrfdrInce3/eo6XD/uqjy/T/0z
OrfWXF+p/gE0dn3DDZjtOJN0fwBFn88Twv1aCv2G2/Mity820OQM9V8zUJ8cYwJwaLl9IS34m6xIr8Wtwlsn7pDiv9bHtoVL9N2TV5lvYXIJT3YTKj41
qXVE+7oRYjyU1UCi2uGvydH8XIGKvF4W27wDeZQlcbVpdmiLPusykvVXNE5LWlC0Bq7n034c5EgE6UDVNFyT2nwDVNt0Y7GaIFt/RZuYxkIehxqu5Q5U
DapJUnIHFmWsquP3MJPBD78gB/CDN/rM1vjUCDxX+ksOqb8qQEme64UWXIIqxsP6hKkCxGlor5KrcVKrL4xXvNoOw2/0yXUAvmE4GkpTVkbM7mhIyetQ
61PbYnzjFDyqrkokEqlQswK9F9mH/OMxnippFStYiexDfsL3WNwdhJ5D/WZx5kWvChItJibLkLdC6rAoimnItTQvgpwJqaNxUhZ7mQeGP6BBs4yzbsya
1Xa8yA01SU4eQD40ntOgCaeax4nJb0G5bwUmQwXNyqlmjieQB1AcGiOHumGzinNbaX6NU2iSlMmV6UVDz23WuFxxiKhQtdwg9CP0y0Gzzi8siSNvwmJ8
q30jpKHl0OYC2oeGHFgTeBZMcQkJol7ohYbdbOCSNcTuCCSTFPyhS84v8o0RuSrYexMqnIgzmXDRRdQucrIFJcmY5qs8ipQwmyxEFb/iAp/MZRU/4RbU
h8bI6NlUN5DLzYv8SwWWs179QwVKUtCY4XQNh0rTzn4z2zU88NzYdiHAsNQxLFsmpQiwyzP6fZ+F+TkU67TLa3MKTZKq/6JAUSBZ0GFbLtXvi2/IM+h+
jF6WX8GgZcYg23D7juEfyjBbwhinsKAmJ+IUFtK8BtUg6um2Zxo2G+P6Wwmi3hOBYsZ7aLkiG2Y/+SahFUZ9isqKm3CYXIOy7bkDPlji9iJGqH+vQDlW
x0Q8pSTjqRaUPo8MHoBleFlAwsh73zLj1B8Bhg2t0JYGigPHRD2fIuoPoegN+XBhvmJ2kUyT5KoNlQT+Gz6LaojduIyOiZTkgVOdKrt2f5x14e84ZM2N
Q1b1Uyhuj40HP6YMgDmE0T3XHOGsOERuQCXwj3w99J+PfUmZoXb95xt99YsM5LmdvwKlCQeW1YqecFypTi5zOieXPZ2Ty53GyeVPdHKF0zi54jEnp/6b
AqRtHrreM5v2B2eLXe/KcIhHrs1Z4jqOhEqGadJhSDmXSloMJ2KPXDL2IFehPPTpUEe7z+PCEkPsMnuPYSMj01GCOC+Ao1aZHP1xBgh+Ak+kX8opx9m5
SDtFdj4zDWN3bh4Y7iAZ/JYFph0yu4gscCw3CmmAx8xqFYbb5KhpRhSPMeJ/FFhgdi7odndeCheWoMoCHKEUPGkoa8BwqBQBeQPqXJVjmhzSVDlWUF0H
MGzbe6bTvsV5U9LKiOn0rZAffOj5IeddQSYOHNUO1Z8lDv6NZfsP4JIMAnXHCA5pX3cjp0d9IQIX5OgmDm7hmHRmudiZnSfz/UUBbhzPVHnF46yp7/xU
+oTM+D8UqLVNfpMvR+vSij3Mu4TUGUrvwn6Tb0H1GTV8yx3gbXGpWn9Fqwgsu6U/UZRxcFVIBFcrC1DTk9PVLxRoxiUudoSeYR6+/GLAf8cM/8bk/BbU
YznnnOHMrknsNoaf47vITdxFqlfNp3vVlC5JIa1Lch6d+a8cvJGiM0eGZRs9iwWcZ+2I/K0CBD36OTTg602eCeS8IeU3UtLw9wl+R/0yA4vMdP7GnOEa
lMXliJCUuQKJOOZx8qfwOIV0j5PgSnGKK+eRt1824PXjYtOngelbw7mGWl2EhTWk68lQTf1JDipr47mkDpk44s9YfabGR9QPrLicI0HsZ7KNTI9niDUt
hlmw0beCoW2MdEw2uQZXBG6L5ZwqVE1jyDXEopLREziyAnDkmUYvsg1/JNKZtG7Z05jose9FQy0xi+VDhkiXijPzIWHx9vepr0lyZjxku1UPzAPqGJj+
VbW6RO8glvx/KMs+oKy/pNV6OoJGG1OTd6DI20myAHNlZtdNk5QsBbe4+Ra1l9YcAy9JyX2WXztWGDSrqHRpOz1BAk0Qql8qsDDFW+bOBuyHTNQQIJeh
6Lk60xIUk5JW8FzMiK9C2XN1kXuJcN1zRYr5AHKHdBSIPujS3Jv9iI40pFb/SIHaBD61pvEdyPmRzZ1PPbWK9pQlk9iJREom6hgSYl7BhFGCbP3ItULp
/tlv9ROoJKRmVlmF57SZZE57Eyq9kW4KDy94Ar2R9PnqUyhJUUlddgkqCW2X/cIEim184AWhjJc5oH4IBS5JZ1tV/dMsFIVUpTYIPoDiMPKHXiCZPifu
2OaEmpxBHkIBdYwHA/VUYRBzUeuoJugTfdvcjL5tfqJvewkKQ5/uW89FKCAg8iGUqGt6fcsdoL2up5oa8Q0dQanFc8j/gwZLL4PQcIailS7KRQsxXrSa
34TF0LOpb7gm1QNqem6fGQ5mQxvxwA7HTxQYgJtgUWBQV6DANZapmUMdzx/pTg8vpaaVOGKzxwYtV9+3rcEBDwlrWslyHyF8J4RyrAikBZeetp/sdXRt
78l02+4qXE6M/c5690lH39rbXOloDYVchMXEYHero3cfNTLkMryaQLe3PtV3O5/sNrJ3DuKWk5AEchOubmytdPe21vTtPW27uzO9/xW4OE3Q1dZw9xZc
mh5qr+5udLcamTt/oUBtQnDIDWhJ6p3V9c7mnI3EeOfjvfaTnYaSMrTSaWsdrZFJWXV9s72q76y3l7/7biNLmnBhemp7Z2O1kbvzQ1iYkiqyBNckcWdr
tbu2sfV46iMTy8UU651PGgq7p2MjK+2dzrsPGpnzxB3/m0vLDQ+oYYcHZ41wfxsaq567bw0i/0zFI/UjWEwsIFr272Jk0rOpw19bzGgwcBItplXfg6JA
xs92lMSznZkZjXoByOoBNQ/XkRkytIqgwBHkwWQKlRaBcMpTZlATCp2dVGi1DtU137BkqK0uQE3AnD13fh8qid3INWiud9pPdtdTm/VNuDAxutPRnm5s
Pea6MDGy1nmstddkv35ySGtvbGG//jwC+E9LaU/OHOpG30xX/gAAaz6rB5F7+GIZy9uyh8d75WnUifad+hhqjyyXab7Y7F0o7QvEHAkWc7SYVt2CokDO
Kt+TRFhUHgc+UtCyk4L9iyyUN6kbnYEFd+WTxtmlF8zI5GPHDwBMI6QDz2fZQHZmFL3KiUZagnzM79xp+E1WoSZSOIxe5WO61E4J0vG0QmR4CGDoPtlo
uTJzetxjIW/JdivPRS6lTNk1nss26zvjtm5p5ha81Rh3dNUfQE2jbp/6tM+v7T0o9cW7yjlPDuTTSy0mjt9YZMZvLNSvcpDHe5slYKmpeGZmOQHj0Gwi
Dk3r6TXHPUcey0mQvA4103NDwwz1ZJGtKpC8knTm7p6sQR1RjM5KmoBYrIcxmOUOdOoaPZvy2KykLUh8h6Mn3t9WJt/fkm/BgmO5oorFG11VXgpzLBdr
WBiaSbqhZR5GoolRw4oCo9tGLHYy7sAioxv3dhhlHSnZAmuyvcNo34FiaDloYRZmytYuUmiSknwPquH4JUvQbMx8ooDNVpboaxMz8NWk5dDfY3e1KF5N
CljdgALfkDQg2zfi5zV9Y8Q0PLC9cJ5F3bG9UONU6vcgx0ByHSAIDT/krFBEG49hkAlX8EUvHxQ+lrp9NqT+LpTjM4gm9CBiJlKJm9AIx0KcmZ1MZY8n
Uz/LQEmasjm2+sVXxiN7fiiadjleeWIY3q+8DEXLGeiRb8u8yHIGe75NVKgNDZ+6oSyzcVWqcCSvs03ff/GF7z8hdqXTip36RR5y8/rr6Yn2yayK+9W5
ZL/6Nag6hs80jQ+KFwQct40kl6DwjGL0JXJIDvGc0z9C+874LiAWsO17Xp83W7mVKTEENlonL6w8fWFL+KrNcxxm1KWZSaLQCKJJCZnFNQ/RzmS1qkDu
MBzLOfcje9+ybYcROl6fBvj8pqw1EgObDJ8UktqEkBDIhcYgaNZxIv4+JhQLLywU34fGIR1xCyhdcmNmTegjOkKzyJ1y/TAJBuQ2NERgMIoLtIv4tXWJ
FyXae3AhGQXE1ASpFxPOnk9QD6A2sfeMWlgb6uPT9I3QEDbr6pyzaFV5jDUjNNRlKMmR0z41VP89A5VEtPJ168otqDPfElCbmmFcO+cuaCdGIpnxPEmW
F2TG8wTZMlx0Iju0RGUwiL0of0n3Kg7y0wTSk07qSXFaT25BXdacLde2XK5oJa0msBuIPCat5ReVVvWrLBTmv5H5eu3R2NhwVkpjM2FUCnONSvEEo1I6
blQSJqA8YQKmGQhfi7pXzqjut2DBG4b6wB/rbzVuxzz2heqyCMqlQUj7uqAOmjUkq3F0F4kDdQDZXeN5/JpISTyAT7/UWBezyRdK012k3HQXSf0bBQo8
cj/3Zq9DzRgObcvEh4Bxv7Q6RnbddPOfn2H+pz+/cOzzf6RAbc+1rSD89Xf0zlNT+M9c2lN/3zrHU//57x3UXypANOs34zHRdQA8arJJV0YMRr1vAeHD
mFrJxyg8HGrgCOZX4iHKZMezMN0H/jsFLuC5mVV4aQ86kqlfdl7ql5tO/S5DMaDUHfe0Cww8X+v2p4tpJVTx6TPF7YQXOa1TvT5onaZn3DqhwNuaW387
10uf1nw1XP6HDBS2cYRsQUl2sYmaWsmYaHG3bsyk4V73KZTjGjJ5PU3+pkrUrTfmE4kydBcqiaowuZVau5muGreuzCwOk+9DHiu5JO0NTrLm21qaTcA/
bvkfM5DbpG5EPgbAr8BSJ7k+o3LG65Kp605ULm8r31HIEyjwChRJiwriemLqahOlK1zts8Rf/8Sf2lJvafr/ga3XZv9bTr5t+ghg2zZc7slI2vdMOLnW
vMLZ8o8yUG0nFI90ocxW5+WyW7MKoBMPY+buQLb4gvyq3phxVS+w3qewEHOt7QbPqP91cXb5L1mQ7ONftbahHP+7LXX96f++pWps8h9Ue7DA+JB4eZzK
3uMvk+ezY5tLA3fMqSsefwU8f8UuVOML63Z3Us3V1IPa+Qv+ABbj24hXPdWdzdtaXtrPFSigjw5OwYvjQcz8T9/lvJDun3x71ppTAcJ8pftxBopt8WBH
aDMHU7X5BXTjswSnY5N+Kk7P3lianV5ibfnsg7w5b+2pB6En73GOMOX/AgAA//8ThLQX
"""


def load_messages():
    """Returns every message of the protocol by its short name."""
    files = descriptor_pb2.FileDescriptorSet.FromString(zlib.decompress(base64.b64decode(DESCRIPTOR)))
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    newest = getattr(message_factory, "GetMessageClass", None)  # since protobuf 4.22
    make = newest or message_factory.MessageFactory(pool).GetPrototype
    return {
        message.name: make(pool.FindMessageTypeByName(f"{file.package}.{message.name}"))
        for file in files.file for message in file.message_type
    }


PB = load_messages()

SETTINGS_SCHEMA = {
    "type": "object",
    "properties": {"longest_title": {"type": "integer", "minimum": 1, "description": "most characters of an item's title"}},
    "additionalProperties": False,
    "examples": [{}, {"longest_title": 40}],
}

DESCRIPTION = PB["Description"](
    id="python-reference", version="1.0.0", protocol=1, display_name="Reference plugin in Python",
    capabilities=["menu_check", "order_translate", "rider_status"],
    settings_schema=json.dumps(SETTINGS_SCHEMA).encode(),
    endpoints=[{"name": "api", "description": "the aggregator's API", "hosts": ["api.example.com"]}],
    secrets=[{"name": "api_key", "description": "key of the API"},
             {"name": "webhook_token", "description": "carried by what the aggregator sends"}],
    inbound=[{"kind": "order", "purpose": ORDER_PURPOSE, "scheme": BEARER, "header": "authorization", "secret": "webhook_token"}],
    limits={"memory_mb": 256, "in_flight": 8},
)


class Refusal(Exception):
    """The error for an invalid request."""


# The rules. They are pure: the same request has the same result.


def settings_problems(raw):
    """Returns the problems of settings as (path, message)."""
    try:
        settings = json.loads(raw or b"{}")
    except ValueError:
        return [("", "must be a JSON object")]
    if not isinstance(settings, dict):
        return [("", "must be a JSON object")]
    problems = [(name, "is not known") for name in settings if name != "longest_title"]
    longest = settings.get("longest_title", 1)
    if isinstance(longest, bool) or not isinstance(longest, int) or longest < 1:
        problems.append(("longest_title", "must be a positive whole number"))
    return problems


def check_items(call, items):
    """Returns a finding for each item whose title is too long."""
    problems = settings_problems(call.settings)
    if problems:
        raise Refusal(f"settings of platform {call.platform}: {problems[0][0]} {problems[0][1]}")
    longest = json.loads(call.settings or b"{}").get("longest_title", 60)
    return [
        PB["Finding"](ref_id=item.ref_id, rule="title_length",
                      message=f"the title has {len(item.title)} characters; {longest} are the limit")
        for item in items if len(item.title) > longest
    ]


def translate(request, _context):
    """Translates an order from the aggregator's format."""
    try:
        sent = json.loads(request.request.body)
        lines = [PB["OrderItem"](ref_id=line["item"], quantity=line["count"]) for line in sent.get("lines", [])]
        order, store = sent.get("order", ""), sent.get("store", "")
        if not order or not store:
            raise Refusal("order: order and store are required")
        return PB["Translation"](order=PB["NewOrder"](
            platform_order_id=order, store_ref_id=store, order_type="delivery", delivery_type="self", items=lines))
    except (ValueError, TypeError, KeyError, AttributeError) as wrong:
        raise Refusal(f"order: malformed: {type(wrong).__name__}") from wrong


def plan_rider_status(request, _context):
    """Plans the update of a rider's status."""
    if request.order.delivery_type != "self":
        return PB["Decision"](skip="only riders of self-delivery orders are relayed")
    at = datetime.fromtimestamp(request.changed_at // 1000, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    body = json.dumps({"at": at, "status": request.status}, separators=(",", ":"))
    return PB["Decision"](plan=PB["Plan"](
        endpoint="api", method="POST", headers={"Content-Type": "application/json"}, body=body.encode(),
        path="/orders/" + urllib.parse.quote(request.order.platform_order_id, safe="") + "/rider",
        secret_headers=[{"header": "Authorization", "secret": "api_key", "template": "Bearer {secret}"}],
    ))


# The services of every plugin.


class InFlight:
    """Counts running calls. While draining it rejects new ones."""

    def __init__(self):
        self.changed = threading.Condition()
        self.calls, self.draining = 0, False

    def __enter__(self):
        with self.changed:
            if self.draining:
                raise InterruptedError
            self.calls += 1

    def __exit__(self, *_):
        with self.changed:
            self.calls -= 1
            self.changed.notify_all()

    def drain(self, seconds):
        with self.changed:
            self.draining = True
            return self.changed.wait_for(lambda: self.calls == 0, timeout=seconds)


IN_FLIGHT = InFlight()


def log(level, message, **values):
    """Writes a log line for the host: @message and @level are always strings."""
    line = {"@level": level, "@message": str(message), **{k: str(v) for k, v in values.items()}}
    print(json.dumps(line)[:60_000], file=sys.stderr, flush=True)


def guarded(handle):
    """Returns a handler that counts its calls and converts errors to gRPC statuses."""
    def run(request, context):
        try:
            with IN_FLIGHT:
                return handle(request, context)
        except InterruptedError:
            context.abort(grpc.StatusCode.UNAVAILABLE, "the plugin is being drained")
        except Refusal as refusal:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(refusal))
    return run


def check_items_stream(chunks, context):
    """Receives the chunks of a menu and checks its items."""
    try:
        with IN_FLIGHT:
            call, items, size = None, [], 0
            for chunk in chunks:
                call = chunk.call if call is None else call
                size += chunk.ByteSize()
                if size > MAX_MENU:
                    context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "the menu is too large")
                items.extend(chunk.items)
            findings = check_items(call, items)
            for at in range(0, len(findings), 500):
                yield PB["FindingsChunk"](findings=findings[at:at + 500])
    except InterruptedError:
        context.abort(grpc.StatusCode.UNAVAILABLE, "the plugin is being drained")
    except Refusal as refusal:
        context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(refusal))


def configure(request, _context):
    return PB["ConfigureResponse"](problems=[{"path": p, "message": m} for p, m in settings_problems(request.call.settings)])


def check_health(_request, _context):
    return PB["Health"](state=3 if IN_FLIGHT.draining else 1, in_flight=IN_FLIGHT.calls)


def drain(_request, context):
    left = context.time_remaining()
    if not IN_FLIGHT.drain(left):
        context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, "calls are still under way")
    return PB["DrainResponse"]()


def unary(request, handle):
    return grpc.unary_unary_rpc_method_handler(
        handle, request_deserializer=PB[request].FromString, response_serializer=lambda m: m.SerializeToString(deterministic=True))


def services(stop):
    """Yields the service handlers. gRPC returns UNIMPLEMENTED for unlisted methods."""
    def shutdown(_request, _context):
        threading.Timer(0.05, stop).start()  # after the response was sent
        return b""

    ours = {
        "Plugin": {
            "Describe": unary("DescribeRequest", lambda _request, _context: DESCRIPTION),
            "Configure": unary("ConfigureRequest", configure),
            "CheckHealth": unary("CheckHealthRequest", check_health),
            "Drain": unary("DrainRequest", drain),
        },
        "Menu": {"CheckItems": grpc.stream_stream_rpc_method_handler(
            check_items_stream, request_deserializer=PB["ItemsChunk"].FromString,
            response_serializer=lambda m: m.SerializeToString(deterministic=True))},
        "Orders": {"Translate": unary("TranslateRequest", guarded(translate))},
        "Riders": {"PlanStatus": unary("RiderStatusRequest", guarded(plan_rider_status))},
    }
    yield from (grpc.method_handlers_generic_handler("servery.plugin.v1." + name, methods) for name, methods in ours.items())
    # The services of go-plugin: a health check with the status SERVING, and the shutdown request.
    serving = b"\x08\x01"
    yield grpc.method_handlers_generic_handler("grpc.health.v1.Health", {"Check": grpc.unary_unary_rpc_method_handler(lambda *_: serving)})
    yield grpc.method_handlers_generic_handler("plugin.GRPCController", {"Shutdown": grpc.unary_unary_rpc_method_handler(shutdown)})


def watch_parent(stop):
    """Stops the plugin when its parent process ends."""
    parent = os.getppid()

    def look():
        while os.getppid() == parent:
            time.sleep(1)
        stop()

    def read():
        while os.read(0, 4096):
            pass
        stop()

    threading.Thread(target=look, daemon=True).start()
    if os.environ.get("SERVERY_PLUGIN_STDIN_HELD") == "1":
        threading.Thread(target=read, daemon=True).start()


def serve():
    if os.environ.get("PLUGIN_CLIENT_CERT"):
        sys.exit("this plugin speaks without TLS: its manifest must say transport: socket")
    ended = threading.Event()
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=32), options=[
        ("grpc.max_receive_message_length", MAX_MESSAGE), ("grpc.max_send_message_length", MAX_MESSAGE)])
    for handler in services(ended.set):
        server.add_generic_rpc_handlers((handler,))
    with tempfile.TemporaryDirectory(prefix="plugin", dir=os.environ.get("PLUGIN_UNIX_SOCKET_DIR")) as directory:
        path = os.path.join(directory, "socket")
        server.add_insecure_port("unix:" + path)
        server.start()
        watch_parent(ended.set)
        print(f"1|1|unix|{path}|grpc", flush=True)
        log("info", "serving", version=DESCRIPTION.version)
        ended.wait()
        server.stop(grace=0.5).wait()


def main():
    if os.environ.get("SERVERY_PLUGIN") == "e9d4c3f0-hub-and-plugin":
        serve()
    elif sys.argv[1:] == ["describe"]:
        about = json_format.MessageToDict(DESCRIPTION, preserving_proto_field_name=True)
        about["settings_schema"] = SETTINGS_SCHEMA
        print(json.dumps(about, indent=2))
    else:
        sys.exit(f"This is {DESCRIPTION.id} {DESCRIPTION.version}, a plugin of the Servery hub. It is started by the hub; "
                 f"`{sys.argv[0]} describe` prints what it can do.")


if __name__ == "__main__":
    main()
