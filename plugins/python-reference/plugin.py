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
eNrMe01sI0d2sJv/fPwRVZ4fDudPbnt25xvbMzvyrD2fHThLSZyR1iNRbkkT29ig0ewuUb1qdtP9oxkmOQSIEQR7CuBgD3vJZU972g2QnHLKIcglQAIE
ARwgpwDJIchtk70FQb2qajapJqWR7Nm98b16VdX16v2/Ivw0A9cC6h9Rf3Rv6ER92713dP+eaTjO3aHvhR5ZFKN3+ejdo/vqXyqQWzUch7Sg1IsC26VB
0FSWlNtZLYbZ2NAxwn3PHzQzS8rtshbD5ALkg9DzaTOLAxxgMwIahrbbD5q5JeV2VYth8m1YsC06GHohdc2RfkhHzTzOrSfQH9ERW8SMfJ+BzQLfVsIr
9z+717fDg6h31/QG98S53j6IevcmORDcw6N/MOz1CvjrHfiqlsamoWO4M9nUmstX9ccKlNaoaQe255K3IcfWQiZWli/fPbbY3W3HcNdf0ZCMXIBccGgP
OV8ZlkHkfSg5dD/UvShsZpeytyvLN9MWinqOHRx0fN/ztSKb0I3ClTIUvSg0vQFV/ykLObYbYyV1raFnuyF+WFmLYXIJCgMaHniWuFsBEQK5oREeiIvF
3+Qh5D+PqD9q5vCj1Bmnu/sxI+q4oT/S+ATyIRQPqGFRP2jmce4bs+auczI+W05iX9PzLC4IVQ1/k0dQD6jp01CXSxdn8moHCfnaWi1IQAF5CMUgMk0m
+iW8tRtpC3AKLXKoJslbDwHGRyUNyDJp5gxmP5l2HBlORAVrOfB+5qHSeh+qyYO+yFz1M6gmj8NukDNATBcQw/ODypvlEJOGkA6YCku1jWH1zxSoJI6K
mhwaYRRQZheyt/NaDJPXoPrDwHN1lCPqi10qDLfNUeQmIKjTzyPDCcRuwFAdxJBbUN+3XcPR411yuEsNsTsCqf6VAiWNBkPPDSieCwfwvHlNQGRlLGMZ
FITbKfcoVzlBzrJjOTvXXf2pAo0NxoqhT0ONfh7RICRvQo6Zjzk2gtlkDYnIe1DyxTfj8pXlq3OOpcXEjE2GGdqeK9guIPUnCtSF6ehyQ0G+y6w4Ewf2
RfVUBRKk7EaoxqlJE4oDGgRGXx5cguQ9KFBmloLTmi9Brh5CNYlnh6BuaIeS3QIiF6Hg033dllYr79P9DTRapmdJscbfya/MTXzlnS8VqCbPRa7Dle7e
7mp3s6Pv7LZ3O/re1s52Z3Xj0UZnrfEKuQRkcnitu9VpKKQJFybxj9obTzprjQy5AhcnR7Y7W2sbW48bWXIZXp0c0jq72qeN3Hl826+uw/XjrsrzLeqf
0bm15vpK9Q+gsesbbsBsx5mk+wMo+nyeEO7XUug33J4XuZbYQJMz1H/NQH1yjAnAoe1aQlrwN1mRXotbhbdO3CHFf62PbQuX6LsnrzLfwuQSnuwmVHxq
UvuIWroRYjyU1UCi2uGvydH8XIGKvF4W27wDeZQlcbVpdmiLPusykvVXNE5LWlC0+67nUysOciSCdKBqGq5JHb4Bqm26sVhNkK2/ok1MYyHPgBqu7fZV
DapJUnIHFmWsquP3MJPBD78gB/CDNyxma3xqBJ4r/SWH1F8VoCTP9UILLkEV42F9wlQB4jS0V8nVOKltCeMVr7bD8BsWuQ7ANwxHQ2nKyojZHQ0peR1q
FnVsxjdOwaPqqkQikQo1O9B7kXPIPx7jqZJWsYOVyDnkJ3yPxd1B6A2o3yzOvOhVQaLFxGQZ8nZIByyKYhpyLc2LIGdCOtA4KYu9zAPD79OgWcZZN2bN
ag+8yA01SU4eQD40ntOgCaeax4nJb0HZsgOToYJm5VQzxxPIAygOjdGAumGzinNbaX6NU2iSlMmV6UVDz23WuFxxiKhQtd0g9CP0y0Gzzi8siSNvwmJ8
q5YR0tAe0OYC2oeGHFgTeBZMcQkJol7ohYbTbOCSNcTuCCSTFPyhS84v8o0RuSrYexMqnIgzmXDRRdQucrIFJcmY5qs8ipQwmyxEFb/iAp/MZRU/4RbU
h8bI6DlUN5DLzYv8SwWWs179QwVKUtCY4XSNAZWmnf1mtmt44Lmx7UKAYenAsB2ZlCLALs+wLJ+F+TkU67TLa3MKTZKq/6xAUSBZ0OHYLtXvi2/IM+h+
jF6WX8GgZcYgx3CtgeEfyjBbwhinsKAmJ+IUFtK8BtUg6umOZxoOG+P6Wwmi3hOBYsZ7aLsiG2Y/+SahHUYWRWXFTThMrkHZ8dw+HyxxexEj1L9ToByr
YyKeUpLxVAtKn0cGD8AyvCwgYeS9b5tx6o8Aw4Z26EgDxYFjop5PEfWHUPSGfLgwXzG7SKZJctWBSgL/DZ9FNcRuXEbHRErywKlOlV27P8668HccsubG
Iav6KRS3x8aDH1MGwBzC6J5rjnBWHCI3oBL4R74e+s/HvqTMULv+8w1L/SIDeW7nr0BpwoFltaInHFeqk8uczsllT+fkcqdxcvkTnVzhNE6ueMzJqf+m
AGmbh673zKFW/2yx610ZDvHItTlLXMeRUMkwTToMKedSSYvhROyRS8Ye5CqUhz4d6mj3eVxYYohdZu8xbGRkOkoQ5wVw1CqToz/OAMFP4In0SznlODsX
aafIzmemYezOzQPD7SeD37LAtENmF5EFA9uNQhrgMbNaheE2OWqaEcVjjPgfBRaYnQu63Z2XwoUlqLIARygFTxrKGjAcKkVA3oA6V+WYJoc0VY4VVNcB
DMfxnunUsjlvSloZMR3LDvnBh54fct4VZOLAUe1Q/Vni4N9Ytv8ALskgUB8YwSG1dDca9KgvROCCHN3EwS0ck84sFzuz82S+vyjAjeOZKq94nDX1nZ9K
n5AZ/4cCtbbJb/LlaF1asYd5l5AOhtK7sN/kW1B9Rg3fdvt4W1yq1l/RKgLLbulPFGUcXBUSwdXKAtT05HT1CwWacYmLHaFnmIcvvxjwy5jh35ic34J6
LOecM5zZNYndxvBzfBe5ibtI9ar5dK+a0iUppHVJzqMz/5WDN1J05siwHaNns4DzrB2Rv1GAoEc/hwZ8vckzgZw3pPxGShr+PsHvqF9mYJGZzt+YM1yD
srgcEZIyVyARxzxO/hQep5DucRJcKU5x5Tzy9i8NeP242Fg0MH17ONdQq4uwsIZ0PRmqqT/JQWVtPJfUIRNH/BnbYmp8RP3Ajss5EsR+JtvI9HiGWNNi
mAUblh0MHWOkY7LJNbgicFss51ShahpDriE2lYyewJEVgCPPNHqRY/gjkc6kdcuexkSPfS8aaolZLB8yRLpUnJkPCYu3v099TZIz4yHbrXpgHtCBgelf
VatL9A5iyf+HsuwDyvpLWq2nI2i0MTV5B4q8nSQLMFdmdt00SclScJubb1F7ac0x8JKU3Gf59cAOg2YVlS5tpydIoAlC9UsFFqZ4y9xZn/2QiRoC5DIU
PVdnWoJiUtIKnosZ8VUoe64uci8RrnuuSDEfQO6QjgLRB12ae7Mf0ZGG1OofKVCbwKfWNL4DOT9yuPOpp1bRnrJkEjuRSMlEHUNCzCuYMEqQrR+5dijd
P/utfgKVhNTMKqvwnDaTzGlvQqU30k3h4QVPoDeSPl99CiUpKqnLLkEloe2yX5hAsY0PvCCU8TIH1A+hwCXpbKuqv8xAUUhVaoPgAygOI3/oBZLpc+KO
bU6oyRnkIRRQx3gwUE8VBjEXtY5qgj7Rt83N6NvmJ/q2l6Aw9Om+/VyEAgIiH0KJuqZn2W4f7XU91dSIb+gISi2eQ/4fNFh6GYTGYCha6aJctBDjRav5
TVgMPYf6hmtSPaCm51rMcDAb2ogHdjheXYECV0umSwM68PyRPugh52taiSM2e2zQdvV9x+4f8LivppVs9xHCd0Iox9JOWnDpafvJXkfX9p5M9+auwuXE
2O+sd5909K29zZWO1lDIRVhMDHa3Onr3USNDLsOrCXR761N9t/PJbiN75yDuK4nrJjfh6sbWSndva03f3tO2uzvT+1+Bi9MEXW0Nd2/Bpemh9uruRner
kbnz5wrUJqSD3ICWpN5ZXe9sztlIjHc+3ms/2WkoKUMrnbbW0RqZlFXXN9ur+s56e/m77zaypAkXpqe2dzZWG7k7P4SFKdEhS3BNEne2VrtrG1uPpz4y
sVxMsd75pKGwezo2stLe6bz7oJE5T3Dxv7m0BPCAGk54cNYw9rehseq5+3Y/8s9UIVI/gsXEAqIv/y6GHz2HDviTihldBE6ixbTqe1AUyPhtjpJ4mzMz
bVEvAFk9oObhOjJDxk8RFDiCPJjMk9LCDE55yjRpQqGzkwqt1qG65hu2jKfVBagJmLPnzu9DJbEbuQbN9U77ye56ake+CRcmRnc62tONrcdcFyZG1jqP
tfaabMpPDmntjS1syp9HAP9xKe1d2YC60TfTej8AwMLO6kHkHr5YWvK2bNTxhngadaJHpz6G2iPbZZovNnsXSvsCMUeCxRwtplW3oCiQs2r0JBH7lMfR
jRS07KRg/yIL5U3qRmdgwV35bnF2fQXTLvmi8QMA0whp3/NZyJ+dGSqvcqKRliAf8zt3Gn6TVaiJPA1DVPliLrUdgnQ8dxBpHAIYn092U67MnB43Ushb
sqfKE45LKVN2jeeyl/rOuHdbmrkF7yfGbVv1B1DTqGtRn1r82t6DkiUeT855VyDfV2oxcfyQIjN+SKF+lYM83tssAUvNtzMzawYYbGYTwWZa4645bizy
gE2C5HWomZ4bGmaoJytpVYHk5aIzt/BkoemIYghW0gTEAjqsL9luX6eu0XOo1QSkWJD4DkdPPLKtTD6yJd+ChYHtilIV72ZVeb1rYLtYqMLQTNINbfMw
Ep2KGpYNGN02YrFdcQcWGd24gcMo60jJFliTPRxG+w4UQ3uAFmZhpmztIoUmKcn3oBqOn6sEzcbMdwjYUWXZvDYxA59G2gP6e+yuFsXTSAGrG1DgG5IG
ZC0jfkNjGSOm4YHjhfMs6o7jhRqnUr8HOQaS6wBBaPghZ4UienUMg0y4gs92+aDwsdS12JD6u1COzyA6zf2ImUgl7jQjHAtxZnbGlD2eMf0sAyVpyubY
6hdfGY/s+aHozOV4eYlheFPyMhTtQV+PfEcmP/agv+c7RIXa0PCpG8paGlelCkfyYtr0/Rdf+P4TYlc6rdipX+QhN6+Jnp5Nn8yquCmdSzalX4PqwPCZ
pvFB8UyA47aR5BIUnlGMvkSiyCGeWPpHaN8Z3wXEArZ9z7N4R5VbmRJDYDd18sLK0xe2hE/XvMGAGXVpZpIoNIJoUkJmcc1DtDNZrSqQOwzHEsv9yNm3
HWfACAeeRQN8Y1PWGomBTYZPCkltQkgI5EKjHzTrOBF/HxOKhRcWiu9D45COuAWULrkxs/DzER2hWeROuX6YBANyGxoiMBjFVdhF/Nq6xIs67D24kIwC
YmqC1IsJZ88nqAdQm9h7RsGrDfXxaSwjNITNujrnLFpVHmPNCA11GUpy5LTvCdV/z0AlEa183bpyC+rMtwTUoWYYF8i5C9qJkUhmPE+S5QWZ8TxBtgwX
B5ET2qL8F8RelD+XexUH+WkC6Ukn9aQ4rSe3oC4Ly7br2C5XtJJWE9gNRB6T1vKLSqv6VRYK8x/CfL32aGxsOCulsZkwKoW5RqV4glEpHTcqCRNQnjAB
0wyEr0XdK2dU91uw4A1Dve+P9bca91we+0J1WQTl0iCkli6og2YNyWoc3UXiQO1Ddtd4Hj8ZUhKv3NMvNdbFbPIZ0nSrKDfdKlL/WoECj9zPvdnrUDOG
Q8c28bVf3BStjpFdN93852eY/+nPLxz7/B8pUNtzHTsIf/1tu/PUFP4zl/ae37fP8Z5//qMG9b8VIJr9m/Fi6DoAHjXZiSsjBqPet4DwYUyt5IsTHg41
cATzK/HaZLKtWZhu9v6tAhfw3MwqvLRXG8nULzsv9ctNp36XoRhQ6o4b1wUGnq8/+9PFtBKq+PSZ4nbCs5vWqZ4YtE7TGG6dUOBtza2/nes5T2u+Gi7/
fQYK2zhCtqAkW9VETa1kTPSxWzdm0nCv+xTKcQ2ZvJ4mf1Ml6tYb84lEGboLlURVmNxKrd1MV41bV2YWh8n3IY+VXJL20CZZ820tzSbgH7f8DxnIbVI3
Ih8D4FdgqZNcn1E543XJ1HUnKpe3le8o5AkUeAWKpEUFcT0xdbWJ0hWu9lni/33in2uptzT9J8DWa7P/EicfMH0EsO0YLvdkJO17Jpxca17hbPlHGai2
E4pHulBmq/Ny2a1ZBdCJ1y9zdyBbfEF+VW/MuKoXWO9TWIi51naDZ9T/uji7/BcsSPbx/1jbUI7/wpa6/vQf3FI1Nvk3qT1YYHxIPC9OZe/x58fz2bHN
pYE75tQVjz/1nb9iF6rxhXW7O6nmaurV7PwFfwCL8W3Eq57qzuZtLS/t5woU0EcHp+DF8SBm/qfvcl5I90++PWvNqQBhvtL9OAPFtniVI7SZg6na/AK6
8VmC07FJPxWnZ28szU4vsbZ820HenLf21KvPk/c4R5jyfwEAAP///86tRQ==
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
