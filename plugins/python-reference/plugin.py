#!/usr/bin/env python3
"""A plugin of the Servery hub in Python, as an example for languages other than Go.

It needs grpcio and protobuf, but no generated code. The messages come from
DESCRIPTOR, which make generate writes into this file, because a hub runs a copy of
a single file. The rules are the functions check_items, translate,
plan_rider_status and plan_action. The lower half is go-plugin's handshake and the
services that every plugin has.
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
eNrMfFtsG9l5sId3fryIOuu1aXply+N14mg3dizvLdn/T0JJtMWsRCqH1Ca7TTEYco6oiYYz3Ll4rbYoiiZtgzy1TZECfQ6CIn1pC7RPfSqKoi8F2pcC
QdE89KEvRR83fShQFOc2nCGHlGztbvIknu985/ad736+EfwoBS95xH1C3NP7EysYmfb9Jw/uD3XLujdxHd9Bq6L3Hu+99+SB+lcKZLZ1y0INKAwCz7SJ
59WVdeVuGodt2jexdP/Iccf11Lpyt4jDNroMWc93XFJPsw7eoCM84vumPfLqmXXlbhmHbfRZWDENMp44PrGHp9oJOa1n2dhqBPwOOaWTDAPXpc16ji8r
21sP3r8/Mv3jYHBv6Izvi3N9/jgY3I9TwLvPjv72ZDDIsV8P4X8qSWSaWLq9kEyNpXRVf6hAYYcMTc90bPR5yNC5GBFLm1fvzU1278DS7d1LmKGhy5Dx
TswJpyuF0hb6EhQscuRrTuDX0+vpu6XNm0kTBQPL9I5bruu4OE8HdAN/qwh5J/CHzpioP09Dhq5GSUlsY+KYts82VsRhG12B3Jj4x44h7la0EILMRPeP
xcWy3+gtyH4QEPe0nmGbUhec7t7XKVLL9t1TzAegL0P+mOgGcb16lo19edHYXY7GR8tBdDcDx+CMUMbsN3oEVY8MXeJrcur8Qlr1GCKfG1e8SMtDb0He
C4ZDyvoFdms3kibgGDiwCJboaB1KQ5cYxPZN3fLqxfX03SKOghpvAUyJgWqQpvzOr4D+pPLzRLcCIojPG19KvaU0vgTlKCmeZaz6PpSjB6Z3zEkkhosW
hXNSyLvnLcovPhlTIZeCHbbVP1KgFCEGk3Vf9wOPUM2RvpvFYRvdgvK3PcfWGKcRV6xSorADDkI3gTU18kFASchXAwpqMQi6A9Uj09YtLVwlw1apMGhP
ANW/VqCAiTdxbI+wc7EOdt4sFi20NeXCFGOVuwk3LWc5gxPTU0680F39vgK1NiXFxCU+Jh8ExPPRK5ChCmaJFqFaGzMk9CYUXLFnNn1p8/qSY+EQmZJJ
H/qmYwuyi5b6JwpUhXLpclWCXqd6nrID3VE1UcQEKr0Rgjk2qkN+TDxPH8mDyyZ6E3KEKi7vvApOoKsnUI7C6SGosPmS3KKFXoScS440U+q1rEuO2kyt
DR1DsjX7Hd1lJrbLjR8oUI6eC63Bte5hf7u739J6/Wa/pR12eget7fajdmundgldARTv3ul2WjUF1eFyHP6o2d5r7dRS6Bq8GO85aHV22p3HtTS6Ci/E
u3Crj9+rZS5i/X7nFqzNGzPHNYj7nOavsdSaqr8Btb6r2x7VHc/F3W9D3uXjBHPfSsBv2wMnsA2xAJYj1H9LQTXeRxngxLQNwS3sN9qSdo1rhVfPXCHB
wu1OdQvn6Htnz7Jcw2Qitu4mlFwyJOYTYmi6zzymNAYJavq/IEPzpykoyeul3s9DyDJeElebpIc65MMuRdm9hDkuakDeHNmOS4zQDZIA1ILyULeHxOIL
MLFNVhbbEbTdSzg2DH0FCpSZBvrwhJE1mYuaTP1tC8TdSzgcRPWfSyYW91WTNxDe7cQ6xRybOmNjotumPVJrUI3Pr/67AuXooBmzVQnN1qNZs/XqGcuf
33QhFSrsFjTT0Ma6eyI0YIkB28a+7p5ciEMwlKM3gzZgVQYPmlxYzLQiO7p8bUoPl+ieY0v3hLfU/85BQbLRM024DmUWoGgxywAMhpl5iM7GUU1D2Ipw
th6Ftw20BsAX9E8n0nIUGaR/OiHoNlQMYpn0mjgGD3PKEsiQVKiYnjYIrBO+eebgFnDJ9LYC64Sf8E0aCHm+MyZuPb9QrrYFCg6R0SZkTZ+MqVtLueal
JKPNKOOTMeao1BkeHuvuiHB3NtkZZqOaYyewfSzR0WuQ9fWnxKvDucZxZPT/oGiY3pCCvHrpXCOnA9BrkJ/op2Ni+/UyG9tIciM4BpaolK+GTjBx7HqF
8xVvIRXKpu35bsDk1KtX+YVFYegVWA1v1dB94ptjUl9h6rgmO3YEnPqunEO8YOA7vm7Va2xKLnI9AaScwn5okvKrfGEG3BbkvQkljsSJjDjrMlCfUbIB
BUmY+gvcaZdtOliwKtvFZT6Y8yrbwh2oTvRTfWARTWdUrr/IdyqgnPTqbylQkIxG1Ymtj4m0pPQ3VQSTY8cOFQFrUCgZ66YlswSsQS9PNwyXxl1cJydd
XpNjYImq/osCeQGkPp5l2kR7IPaQpa0HIXhT7oK2NimBLN02mJYTUY1sM7eQ+pAZ4RZSD/IWlL1goFnOULdoH5ffkhcM9gSIasKJaYv0BP3JF/FNPzAI
E1a2CG+jl6BoOfaIdxa4vggB6j8oUAzFMeK+KlH3tQGFDwKd+7spnqeRbUZ71xyGuRjWoFDf9C2poHhjjtWzCaz+FuSdCe/OLRfMLkPDEl21oBSBf8Jn
UXWxGufRKZISPXCihaLX7k6DXPY7jBAy0whBfQ/yB1PlwY8p4w3eYsEUlxxhrHgL3YCS5z5xNd99OrUlRQrqu0/bhvrdFGS5nr8GhZgBS+O8sMLJRi51
PiOXPp+Ry5zHyGXPNHK58xi5/JyRU387Bag5PLGdDy1ijJ4vVLgnvU8eKNQXsevU8SzowyGZ+IRTqYDDdsT3yER9D3QdihOXTDSm97kbXqCAPtX3zEun
aBrjIE4L4KBtGmmuAQyPdXvEvfg8G14UkKav/m4KENshT2t8KkSYOp0iCSCczoVB8cwhsjOHoGqTUWhs2oFPPEaFNC5R2D4HzdIpP0sn9ecKrFA16HW7
vU+FCutQpv6PkBkewhUxUBiTGQ+9DFUu6SFOhuGUOVRgrQHoluV8qBHD5LQp4CKDtAzT5wefOK7PaZeTYRwHNX31J5GDf2K5l9fgivQRtbHunRBDs4Px
gLiCBS7L3n3W2WF90tZlQlt3kTzE9/JwYz5vwPNPz5uIWJ7YOCNP8XspqPD47NOSuqTUGzU+PhlPpPGhv9FnoPwh0V3THrHb4ly1ewmXBJTe0vcUZep7
5aK+1w2Aie7qY+LzDDkN/SKQrRWoaNHp1e8qUA8TkjJY/fRTN38WXsgnJgd3oBrKAaccv4yKhB4wCk7vKhO7q0SjnE02ygmvXrnEV68w0ZB/pkTDBUTx
vzLwcoIoPtFNSx+Y1M193oexv1UAMT/iAoL18YbsCDLOhPCLLGD2+wxzpv4gBatUI//SnOElKIrLEY4wtTASMGfIsucwZLlkQ7bEU7kIv/3sLtyeZxuD
eEPXnCzV/+oqrOwwvIF0ENV/zUBpZzoWVSEVxhkp06DS/4S4nhkmkWSTPWvThYYOj0srOGxTH8YwvYmln2osxBVJMQHr0EhXhfJQn3AJMYkkdAyGtgCe
OEN9EFi6eyqCqKRH03dDpMeuE0xwZBSNwnQRpOUXRmFCUR4dERdLdKpz5Ku75g2PyVhnQWcZVyW4x6Doi1CUz8Ey65OUYWoJHDzFRg8hz98MZdrn2sLH
VywxaeBvch0mMj6NJVpOoqIHNKofm75XLzOhS1ppjyFggYi+En+frbDF1pKENcSKPd+qP1BgZeZyqJkd0R8yvmQNdBXyjq1RMWN8VsA5x2aB/HUoOrYm
QkYRZTi2iIxfg8wJOfXEe/r6UtZ4h5xihq1+R4FKDJ6YivkCZNzA4kavmpj8e5fGwOxFm2FSWWGuKguHKDfLJp0/sE1fuiX0t/pjBUoRvluUDuKxeCoa
i9+E0uBUCxPynCgwOJXOBnoFVqceiuRd/hxSm3YI7r0JJY/YhqeRJ8SWPjcwUItC1J8pUJC8m7jLdShF1I98pY6A6DmOHc+XcQFvsOd/4vrmkTmkbolQ
EhEQFcFIM1rsEgHTC3wbwKUYjHGZa5Ccr8W6TxiT46Irf6oGFEM4VWvChZLPCGGbZfmIazqG5pGhYxseO2sFVzi0x4H0tIPA9XyhFnlD/RXIcUF+ThrS
yJm42rRcqIALExrqOi5R/04BmArhc67wEHKOHvjHm+KZKElDdJsUYfcSFqhoG4qeObJ1P3CJyEPeTnw+ZzTsSdTdS3g6bivHHxXVH2Ygx1dAD6ma0EXB
TTVR6/SdE2I/pkiY48YKdVIzhTpJBTnXoejTSbTAtQT/FRjg0LVo59Ayie1P/dICB7QNdBsqolNUgIjEDQeKi+5ClRKJXsqQv7/l2WE+m6RC2cBmDB3P
DGflYkNnIrOfvEH34pIjl3jHGtt8vcj3IoCMTKgdi2O4sfncwgu+dxDi8kewyOBIOUwpVg4TLXspx8teGv8fVmamfKZnsI9SUJtloUj5jRIrv9mGom6N
HNf0j8dCfd9JMqtyoqZExtNx6KuUlYaOYdojxjLVxJKrcI6WwMXhqBg5MnFyREiYjZEwpEAummb9HNR8c0w8Xx9PRLGWSPqshHBRqrQfRaVur+4zZqkm
Ok59ifqIYUam4wD1D3KQF55E4sv/25CfBO7E8aSdXBKiHnBELEegtyDHbBMRBF5fPJbZKoIFfoR8mQUFWdkYR1yB3MQlR+ZTQVfRQl+OXHJ+IZXEHhKu
OOliCskX8wqs+o5FXN0ektB8FJmBqIUd0oJEU9nA3W6Zyr4say247InqCWrEzZFNDM0nT30hfcBBffLUp5Z0ulM+AX+8q4ZgVv+AOgkMVGWkub2YNCEf
zXEQDQVsh55ZkGeF2x0GE6T5DKyEb+gCK/rO1zYE3uuQ5fpt9azYnqk8zLGZExGaRm2iu754/atOwQe661PzPj06w+PvgJUQStGorS1H11laHiqtTipi
da5AzvS8IMwXihZdn//SRIAhuLvCoT0OZGn3wDCJPZQPCmGbMqT8HU7CWX5FwsU06hbkuLtPDd2YjB33VBsPpM/DAfsD2mna2pFljo594e4UTPsRa2/4
UAydYNSAK+829w5bGj7cmy3sug5XI33f2O3utbTO4f5WC9cU9CKsRjq7nZbWfVRLoavwQgTc7Lyn9Vvf7NfSGxbA1PTTqfvdd1od7TFudvoz66pwI9q5
vddu0T+4tdPq9NvNvV5NQWtwLYqDW49wq7erMVgttfGbcDnJNqM7cEtM1zzs79Lptpv9drczs4ObcD0ZbavZa2/XFHQDGgsQujvv1VIbP1YAzZsqdBtu
9tqPO83+IW5pzb3HXdzu7+7PLH4L1pKQdveb21pvt/mgpiyaR6Jsvv5GLXUW0usPNmvpDRdW58whvYDpyFZnu7vT7jye2WUDriTg7La+yS8noW+r2Wu9
8VottfGHCqzMGDG0Di/12/utXr+5f6A96uL95ixXvAT1OYxea7vb2aH8cAvW5nr323t7bYmSSpwAP9p++PDhF2vpje8oYdWcsHmUC9qdre5hZ0c7OMQH
3d6sgFyDF2cRuniHiUcDrsx2Nbcph/Dyx9m+/fY3Wzu19MZHClRi1pNymkTube+29pfsQfS3vn7IZWS+a6vVxC1cSyXMGuWdNKrD5dmhjPMzlIoLRj6o
ZZfMS9kth64Amun/2jf6tfzGH7OC4LhZoncqkacXFz/9GlybR5lyhQo35rtn2CJxiilffBtWZlwJyqtyxALhiJBvRjSuw9W5HikYF0kw/m8m6W3pmOiW
f/y8qeyvQG3bsY/MUeA+19u0+g6sRiYQBdhvsBTkwCJjXju/oH6Jo+AQV30T8gIY2mclYp8XvniolwFtH5PhyS4jhsyhBpDjAPRa/IklKdXIMc/5whIz
vum48VWrUN5xdVPm1NUVqIg2J8/Gr0MpshoVt91Wc6+/m1h6XYfLsd5eC7/b7jzmsh/r2Wk9xs0dWX0d78LNdodVX1+EAf95PekTozGxg0+mxvoYgL0Z
bx8H9smzPU18XpYI8sLSJOxIdaD6GCqPTJtKvljsDSgcCcASDhZjcIirdiAvgIuqg1AkfVmcJiglo6XjjP0XaSjuEzt4DhLck5+wLX66ZTkq+XHb2wBD
3SfUjyGy1juxIJMjneII+pTemfPQG21DRbzVsCyz/HgqsRCL4fH3A/GUwxosRx+v47q2cHhYwoVeldWc/NHhSlLwrT+VVZwPp1WjhYVL8ErGsGBU/RZU
MLEN4hKDX9ubUDDEd3RLCsjlp3Y4RA4Lm1PTwmb1pxnIsntbxGCJb26phe+GLB+ZjuQjk0oG69OSRh7ZyCbLtzm2rw99LfpIXxZA/tL83MWD8o36CWEh
eQGLFo2nWAxq2iON2PrAIjwgL+AVCW9xcOx7y1L8e0sa4Y5NW7xy8wQPD9ErY9Nmb9wsjJJ4E3N4EogaqQp7OqR4BwzKCqU2YJXiTUvHKGaVYdIJdmT1
GMV9CHnfHDMNs7KQt/oMA0tM9FUo+9PvErx6bWEFNKvl7OhjgmMjWPbLHJNfo3e1KrJfoq22IccXRDVIG3qYAzT0UyrhnuX4yzRqz3J8zLHUr0KGNtEa
gOfrrs9JoYgqQQphRLjGQnTeKWws4f6h+qtQDM8galxHAVWRSljjytohE6cWJ9XTc0l19ScpKEhVtkRXP/vM7MiO64uawAx/YqYQXg55FfLmeMQy2yIZ
Zo5Hh66FVKhMdJfYvnxP56JU4kD+oD57//lnvv8I2xXOy3bqd7OQWVa+m/wedjapwnLYTLQc9haUx7pLJY13igJlDjtgKFcg9yFh3pdIHPIWTzS6T4gn
nvZFizpsR45j8FpOrmUKFMDqOOMXVpy9sHX2jZIzHlOlLtVMFMSUIFMpPtW4wxOmZ9K4LIA9CkOvwOpRYB2ZljWmiGPHIB6r7i/iWqRjn8KjTFKJMQmC
jK+PvHqVDWS/55hi5ZmZ4mtQOyGnXANKk1xb+Hb7DjllapEb5epJtOmhu1ATjsFpWImxynZblXBRi3EfLke9gBAbMezViLHnA9RjqMTWXvBm3YTq9DSG
7utCZ11fchZclsfY0X1d3YSC7Dnve4j6HykoRbyVj1tW7kCV2haPWGToh0Uy3AT1QiBD059G0bICTX8aQduEF8eB5ZviBd8LrSj/UOcF1slP40lLGpeT
/Kyc3IGqLC4xbcu0uaAVcEVA2ww4x63FZ+VW9adpyC0vwf949dFU2XBSSmUTUyq5pUolf4ZSKcwrlYgKKMZUwCwB4WMR99JzivsdWHEmvjZyp/JbDuuu
HrtCdKkHZRPPJ4YmsHnZShFXOLjLkD11BOm+/jT8WEGJfM6cfKmhLKajL3Oz5WKZ2XIx9W8UyHHP/cKL3YaKPplY5pB9ZxTWU5anwK6drP6zC9T/7PZz
c9v/vgKVQ9syPf8XX7p3kZzCf2aSPtx2zQt8uL28Xlr9SAGEzV+OjxHWANhRo9V4RQZhXu+rgHg3C61kMTt3h2qsh8VXopA9XtqYmy34/HsFLrNzU63w
qRWER0O/9LLQLzMb+l2FvEeIPS1ezdHmxWo0f7SalEIVW1/IbmdU9DfOVWbcOE9xaOOMBG9jaf7tQl8KNJaL4eY/piB3wHpQBwqyXBWpiZmMWC1r48ZC
HG5134VimENGSa/ZsynqxsvLkUQaugulSFYY3UnM3cxmjRvXFiaH0dcgyzK5KOmJO5rzbawvRuCb2/ynFGT2iR2grwOwXbBUJ1pbkDnjecnEeWOZy7vK
FxS0BzmegUJJXkGYT0ycLZa6YrO9H/lHLuJflKDkmoP4f3tp3Fr8v0/ktw/vABxYus0tGUraT8zINZYlzja/n4JyMyJ4qAtFOjtPl91ZlACNVcAvXQF1
+IT8ql5ecFXPMN97sBJSrWl7HxL346Ls5l9SJ9ll/x/hAIrh/ypJnH/2P5kkSmz0/2EcwgqlQ+TDxkTyzn/4uJwcB5wbuGFOnHH+K8LlM3ahHF5Yt9tL
VFczH+Qtn/BbsBreRjjrue5s2dLy0v5cgRyz0d45aDHvxCzfep/TQpp/9NlFc844CMuF7ocpyDdFZb6QZt5MlOZnkI33I5QOVfq5KL14Yal2BpG5p9XZ
y+ae+WDs7DUu4Kb8XwAAAP//4IzSEg==
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
    "properties": {
        "longest_title": {"type": "integer", "minimum": 1, "description": "most characters of an item's title"},
    },
    "additionalProperties": False,
    "examples": [{}, {"longest_title": 40}],
}

DELAY_SCHEMA = {
    "type": "object",
    "properties": {"minutes": {"type": "integer", "minimum": 1, "maximum": 60, "description": "how much later"}},
    "required": ["minutes"],
    "additionalProperties": False,
    "examples": [{"minutes": 10}],
}

DESCRIPTION = PB["Description"](
    id="python-reference", version="1.0.0", protocol=1, display_name="Reference plugin in Python",
    capabilities=["action_plan", "menu_check", "order_translate", "rider_status"],
    settings_schema=json.dumps(SETTINGS_SCHEMA).encode(),
    actions=[{"name": "delay_order", "title": "Delay the order", "sends_event": True,
              "parameters_schema": json.dumps(DELAY_SCHEMA).encode()}],
    endpoints=[{"name": "api", "description": "the aggregator's API", "hosts": ["api.example.com"]}],
    secrets=[{"name": "api_key", "description": "key of the API"},
             {"name": "webhook_token", "description": "carried by what the aggregator sends"}],
    inbound=[{"kind": "order", "purpose": ORDER_PURPOSE, "scheme": BEARER, "header": "authorization",
              "secret": "webhook_token"}],
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


def delay_of(raw):
    """Returns the minutes of delay_order. The hub has checked them, other callers may not have."""
    try:
        parameters = json.loads(raw or b"{}")
    except ValueError as wrong:
        raise Refusal("parameters must be a JSON object") from wrong
    if not isinstance(parameters, dict) or set(parameters) - {"minutes"}:
        raise Refusal("parameters must be a JSON object with minutes alone")
    minutes = parameters.get("minutes")
    if isinstance(minutes, bool) or not isinstance(minutes, int) or not 1 <= minutes <= 60:
        raise Refusal("parameters.minutes must be a whole number from 1 to 60")
    return minutes


def plan_action(request, _context):
    """Plans a feature action."""
    if request.action != "delay_order":
        raise Refusal("the action is not offered")
    body = json.dumps({"minutes": delay_of(request.parameters)}, separators=(",", ":"))
    return PB["Decision"](plan=PB["Plan"](
        endpoint="api", method="POST", headers={"Content-Type": "application/json"}, body=body.encode(),
        path="/orders/" + urllib.parse.quote(request.order.platform_order_id, safe="") + "/delay",
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
    problems = settings_problems(request.call.settings)
    return PB["ConfigureResponse"](problems=[{"path": p, "message": m} for p, m in problems])


def check_health(_request, _context):
    return PB["Health"](state=3 if IN_FLIGHT.draining else 1, in_flight=IN_FLIGHT.calls)


def drain(_request, context):
    left = context.time_remaining()
    if not IN_FLIGHT.drain(left):
        context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, "calls are still under way")
    return PB["DrainResponse"]()


def unary(request, handle):
    return grpc.unary_unary_rpc_method_handler(
        handle, request_deserializer=PB[request].FromString,
        response_serializer=lambda m: m.SerializeToString(deterministic=True))


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
        "Actions": {"PlanAction": unary("ActionRequest", guarded(plan_action))},
    }
    for name, methods in ours.items():
        yield grpc.method_handlers_generic_handler("servery.plugin.v1." + name, methods)
    # The services of go-plugin: a health check with the status SERVING, and the shutdown request.
    serving = b"\x08\x01"
    yield grpc.method_handlers_generic_handler(
        "grpc.health.v1.Health", {"Check": grpc.unary_unary_rpc_method_handler(lambda *_: serving)})
    yield grpc.method_handlers_generic_handler(
        "plugin.GRPCController", {"Shutdown": grpc.unary_unary_rpc_method_handler(shutdown)})


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
        about["actions"][0]["parameters_schema"] = DELAY_SCHEMA
        print(json.dumps(about, indent=2))
    else:
        sys.exit(f"This is {DESCRIPTION.id} {DESCRIPTION.version}, a plugin of the Servery hub. It is started by "
                 f"the hub; `{sys.argv[0]} describe` prints what it can do.")


if __name__ == "__main__":
    main()
