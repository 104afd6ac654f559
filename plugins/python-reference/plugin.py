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
eNrMfMtvI8l5+DTf/PgQVTsPDuel6dmxx9r1jEezL3t/P9uUxBnRMyLlIrX2bpw0muyS1Fazm9uP2VES5OVFYvgQJHbg/AOBD84lOSSX5BQEQQ4xkFMA
I4gPORgBkhzt3IKgXs1uskm9dtc+ifXVV1VdX33v+krwZym47hH3OXGPHoytYN+0Hzx/+GCoW9b9sev4DloWvfd57/3nD9W/UiCzoVsWakBhEHimTTyv
rqwo99I4bNO+saX7e447qqdWlHtFHLbRRch6vuOSepp18AYd4RHfN+19r55ZUe6VcdhGn4Yl0yCjseMTe3ikHZKjepaNrUbAT8kRnWQYuC5t1nN8Wdle
f/jeg33TPwgG94fO6IHY12cPgsGDOAW8B2zrb48Hgxz79Qh+VE0i09jS7blkaiykq/p9BQqbZGh6pmOjz0KGzsWIWFq7cn9msvs7lm5vXcAMDV2EjHdo
jjldKZS20BegYJE9X3MCv55eSd8rrd1KmigYWKZ30HJdx8V5OqAb+OtFyDuBP3RGRP15GjJ0NUpKYhtjx7R99mFFHLbRZciNiH/gGOJsRQshyIx1/0Ac
LPuN3oLs+wFxj+oZ9lHqnN3d/ypFatm+e4T5APRFyB8Q3SCuV8+ysS/PG7vF0fhoOYh+zcAxOCOUMfuNHkPVI0OX+JqcOj+XVj2GyOfGFS/S8tBbkPeC
4ZCyfoGd2s2kCTgGDiyCJTpagdLQJQaxfVO3vHpxJX2viKOgxlsAE2KgGqQpv/MjoD+p/DzXrYAI4vPGF1JvKY0vQDlKitOMVd+DcnTD9Iw5icRw0aJw
Tgp59rxF+cUnIyrkUrDDtvonCpQixGCy7ut+4BGqOdL3sjhso9tQ/qbn2BrjNOKKVUoUtsNB6BawpkbeDygJ+WpAQS0GQXehumfauqWFq2TYKhUG7Qmg
+tcKFDDxxo7tEbYv1sH2m8WihdYnXJhirHIv4aTlLMdwYnrCiec6qz9SoNampBi7xMfk/YB4PnoFMlTBLNAiVGtjhoTehIIrvplNX1q7tmBbOESmZNKH
vunYguyipf6XAlWhXLpclaDXqZ6n7EC/qJooYgKVngjBHBvVIT8inqfvy43LJnoTcoQqLu+kCk6go+tQdMkeoXaAMONSxBMAWoNL5MXYdImn6Xs+cTWP
DB3b8JiNqeCXRGeT9vV4l3oI5ehKlCxUfH15gKKFLkHOJXuaKTVl1iV7baYoh44hBYX9ju47E9v36vcUKEcphW7A1e5uf6O73dJ6/Wa/pe12ejutjfbj
dmuzdgFdBhTv3ux2WjUF1eFiHP642X7W2qyl0FW4FO/ZaXU2250ntTS6Ai/Fu3Crj9+tZc5jT/8pA7dmzaMwQacyqRMbrP5NCpYwGTuuTwzJgrGDV2YP
PnNo2vxoqokaXMzz1LQNzHDRCpSZv6KJYxXKh8EwO9tVWJaujsZRTUOc6JLs6FF425iISPasIpKbJyL5U4nI6m9DKbJZdB3q8tSftjubUwx2CZZjvdut
zm5NibIlA/f6XdzSmhv9drdTS83M2e63tmVv+jzs9NPbcCOBnVyDuGf0zxrHsecxvPibUOu7uu1R63cm/fw25F0+Tqjn2wn4bXvgBLYhFsByhPpvKajG
+6jCYazOZYCz8rr0zLhde/XYFRJ8tK2JdeQ6+f7xsyy2kZmIt3YLSi4ZEvM5MTTdZ0KSxiBBTf8X5Cr9RwpK8nip//4IsozZxNEmWdIO+aBLUbYuYI6L
GpA3923HJUboyEsAakF5qNtDYvEFmJJJluWNCNrWBRwbhr4EBcpMA314yMiazEVNZsA3BOLWBRwOoh644HqmZ5K99ymdS/fhTDwAl4wtHq0lbyDkjbF1
hDk2DUdGRLdNe1+tQTX+feq/K1CODppy3Cqh4/Z42nF79ZjlT+68IRUq7BQ109BGunso9HuJAdvGtu4enovDMJSjJxuzKXJhMVNoU7p8bUoPl+ieY0sH
nbfU/8lBQbLhqSacNnmpk5m8dLLJuwHAF/SPxqEzxiD9ozFBd6BiEMukx8QxeKBflkCGpELF9LRBYB3yj2fcWcAl01sPrEO+wzehMAw83xkRt56fK5cb
AgWHyGgNsqZPRjSwo1xzPckmM8r4ZIQ5Kg0Hhwe6u094QJccDrJRzZET2D6W6Og1yPr6C+LV4UTjODL6f1A0TG9IQV69dKKRkwHoNciP9aMRsf16mY1t
JHkJHANLVMpXQycYO3a9wvmKt5AKZdP2fDdgcurVq/zAojD0CiyHp2roPvHNEakvMXVekx2bAk6jN84hXjDwHV+36jU2JRe5ngBSTmE/NEn5Zb4wA24I
8t6CEkfiREacdRmozyjZgIIkTP0lHrbKNh0sWJV9xUU+mPMq+4S7UB3rR/rAIprOqFy/xL9UQDnp1d9RoCAZjaoTWx9Jb5T9popgfODYoSJgDQolI920
ZJ6MNejh6YbhEs8TOj3p8JocA0tU9V8UyAsgjUks0ybaQ/ENWdp6GILX5FfQ1holkKXbBtNyIq6XbRbG0JgnI8IYGvHchrIXDDTLGeoW7ePyW/KCwTMB
oppwbNrCdaU/+SK+6QcGYcLKFuFt6sNbjr3POwtcX4QA9R8VKIbiGAm3lGi41YDC+4HO47MUz1TKNqO9aw7DbCRrUKhv+pZUULwxw+rZBFZ/C/LOmHfn
Fgtml6Fhia5aUIrAP+a9qLpYjfPoBEmJbjjRQtFjdydpHvY7jGgzk4hWfRfyOxPlwbcp42PeYukELjnCWPEWugklz33uar77YmJLihTUd1+0DfXDFGS5
nr8KhZgBS+O8sMLJRi51MiN3vrgubuSyxxq53EmMXH7GyKm/lwLUHB7azgcWMfbPFmrcl94rDzTq89h14rgW9OGQjH3CqVTAYTvie2Sivge6BsWxS8Ya
0/vcjS9QQJ/qe+blUzSNcRCnBXDQhmMQSs3hgW7v8yggz4YXBaTpq7+fAsS+kCf2PhEiTJxOkQYTTufcJM7UJrJTm6Bqk1FoZNqBTzxGhTQuUdg2B03T
KT9NJ/XnCixRNeh1u71PhAorUKb+j5AZHgIWMVAYkxkPvQxVLukhTobhlDlUYN0A0C3L+UAjhslpU8BFBmkZps83zoMMSrucDAM5qOmrP4xs/GPLPr4G
l6WPqI1075AYmh2MBsQVLHBR9m6zzg7rk7YuE9q68yQ6vp2Hm7N5B56BPWumY3Hm5Jg8xx+koMLjs09K6pKSz9T4+GQ0lsaH/kafgvIHRHdNe5+dFueq
rQu4JKD0lL6tKBPfKxf1vW4CjHVXHxGf3xHR0C8CWV+CihadXv1QgXqYkpfB6ief+vnz8EA+Njm4C9VQDjjl+GFUJHSHUXByVpnYWSUa5WyyUU64980l
3vuGiYb8qRIN5xDF/87Aywmi+Fw3LX1gUjf3rFfDf6cAYn7EOQTrow3ZEWScMeEHWcDs9zHmTP1eCpapRv6l2cN1KIrDEY4wtTASMGPIsicwZLlkQ7bA
UzkPv/3kHtyZZRuDeEPXHC/U/+oyLG0yvIF0ENV/zUBpczIWVSEVxhkp06DS/5y4nhkmkWSTFXbQhYYOj0srOGxTH8YwvbGlH2ksxBVJMQHr0EhXhfJQ
H3MJMYkkdAyG1gGeO0N9EFi6eySCqKTE4zsh0hPXCcY4MopGYboI0vJzozChKPf2iIslOtU5su5E84YHZKSzoLOMqxLcY1D0eSjKggiZ9UnKMLUEDp5g
o0eQ57fmMu1zdW75AZaYNPA3uQ4TGZ/GAi0nUdFDGtWPTN+rl5nQJa30jCFggYi+FK9QqLDFbiQJa4gVK2BQv6fA0tThUDO7T3/I+JI10BXIO7ZGxYzx
WQHnHJsF8teg6NiaCBlFlOHYIjJ+DTKH5MgTFSUrC1njKTnCDFv9lgKVGDwxFfM5yLiBRcSdYFLy7x0aA7OaDoZJZYW5qiwcotwsm3T+wDZ96ZbQ3+oP
FChF+G5eOojH4qloLH4LSoMjLUzoc6LA4Eg6G+gVWJ54KJJ3+XVKbdIhuPcWlDxiG55GnhNb+tzAQC0KUX+iQEHybuJXrkApon5knUYERPdx4Hi+jAt4
gxXAENc398whdUuEkoiAqAhGmtFyrwiYHuDbAC7FYIwrriiSjgzrPmFMjouu/KkaUAzhVK0JF0peI4RtluUjrukYYWFAimFUOFSUBNDdDgLX84Va5A31
VyDHBfmMNKSRM3G1ScFcARfGNNR1XKL+vQIwEcIzrvAIco4e+Adr4popSUN0mxRh6wIWqGgDip65b+t+4BKRh7yTeDfEaNiTqFsX8GTceo5fSqrfz0CO
r4AeUTWhi5KzaqLW6TuHxH5CkTDHjZWqpaZK1ZJK0q5B0aeTaIFrCf4rMMCua9HOoWUS25/4pQUOaBvoDlREp6iBEokbDhQH3YUqJRI9lCG/v8uzzXw6
SYWygc0YOp4azgomh85YZj95g36LS/Zc4h1o7OPrRf4tAsjIhNqxOIYbm8/MPeD7OyEuvwSLDI4UhJViBWHRwq9yvPCr8f9haWrKU12D/SwFtWkWihSg
KbECtA0o6ta+45r+wUio77tJZlVO1JTIeDIOfZmy0tAxTHufsUw1segwnKMlcHE4KkaOTJwcERJmYyQMKZCLplk/AzXfHBHP10djUa4okj5LIVwU621H
Uanbq/uMWaqJjlNfoj5mmJHpOED94xzkhSeRWDnwNuTHgTt2PGknF4SoOxwRyxHoLcgx20QEgVfmj2W2imCBHyFfZk5JYjbGEZchN3bJnvlC0FW00Bcj
h5yfSyXxDQlHnHQwheSDeQWWfccirm4PSWg+isxA1MIOaUGiqWzgbrdMZV+UtRpc9kT1BTXi5r5NDM0nL3whfcBBffLCp5Z08qV8An55Vw3BrH4CdRIY
qMpIc2c+aUI+muEgGgrYDt2zIM8StzsMJkjzKVgK79AFVvSer20IvNchy/Xb8nGxPVN5mGMzJyI0jdpYd31x+1edgHd016fmfbJ1hsfvASshlKJRW1uO
rrOwQFpanVTE6lyGnOl5QZgvFC26Pv+liQBDcHeFQ3scyNLugWGySjZhlmSbMqT8HU7CWX5JwsU06jrkuLtPDd2IjBz3SBsNpM/DAdsD2mna2p5l7h/4
wt0pmPZj1l71oRg6wagBl99pPtttaXj32XQh4jW4Eun72lb3WUvr7G6vt3BNQZdgOdLZ7bS07uNaCl2BlyLgZuddrd/6er+WXrUAJqafTt3vPm11tCe4
2elPravCzWjnxrN2i/7Brc1Wp99uPuvxYrUoDm49xq3elsZgtdTqb8HFJNuM7sJtMV1zt79Fp9to9tvdztQX3IJryWjrzV57o6agm9CYg9DdfLeWWv2B
AmjWVKE7cKvXftJp9ndxS2s+e9LF7f7W9tTit+FGEtLWdnND6201H9aUefNIlLXX36iljkN6/eFaLb3qwvKMOaQHMBnZ6mx0N9udJ1Nf2YDLCThbra/z
w0noW2/2Wm+8VkutfleBpSkjhlbger+93er1m9s72uMu3m5Oc8V1qM9g9Fob3c4m5YfbcGOmd7v97FlboqQSJ8CPNx49evT5Wnr1W0pYdSdsHuWCdme9
u9vZ1HZ28U63Ny0gV+HSNEIXbzLxaMDl6a6wkjJh2Hb7663NWnr1ZwpUYtaTcppE7m1stbYXfIPob311l8vIbNd6q4lbuJZKmDXKO2lUh4vTQxnnZygV
54x8WMsumJeyWw5dBjTV/5Wv9Wv51T9lJfFxs0TPVCJPDi6++xtwdRZlwhUq3JztnmKLxCkmfPFNWJpyJSivyhFzhCNCvinRuAZXZnqkYJwnwfi/maS7
pQOiW/7BWVPZX4LahmPvmfuBe6a7afUpLEcmEE8Q3mApyIFFRvz1yJz6JY6CQ1z1TcgLYGiflYh9nnvjoV4EtHFAhodbjBgyhxpAjgPQa/ErlqRUI8c8
4Q1LzPim48ZXrUJ509VNmVNXl6Ai2pw8q78BpchqVNy2Ws1n/a3EpwJ1uBjr7bXwO+3OEy77sZ7N1hPc3JSvBeJduNnusNcC52HA31WTHtmNiB2c9Wpz
8d3lAQC7M944COzD011NfFaWCPLC0iTsSHWg+gQqj02bSr5Y7A0o7AnAAg4WY3CIq/6hAnkBnVcehCL5y+IkQyk5LR3ntC9CwSPPiSuLuJIjIbFkT2Di
cIz6l2kobhM7OAMN78tXoPPvflmSS74PfRtgqPuEOkJEFpsnVnRypCMcQZ8cWOYkB4Y2oCIue1iaWr4/TKzkYnj8AkLcBbEGS/LHC8Guzh0e1oChV2U5
KL+1uJwUvesvZBnoo0nZaWHuErwUMqw4Vb8BFUxsg7jE4Mf2JhQM8RR1QQW7fK2KQ+SwMjo1qYxWf5yBLDu3eQyaeGmXmnvxyBKa6UhCM6nmsD6pieSh
kWyyhJ1j+/rQ16K3/GUB5FfVZ64+lJfczwmL6QtYtGhAxoJY097XiK0PLMIj+gJekvAWB8eeLJfiT5ZpiDwybXFNzjNEPMavjEybXZKzOEzijc3hYSCK
rCrs7pHi7TAoq7RahWWKN6k9o5hVhkkn2JTlZxT3EeR9c8RU1NJc3uozDCwx0Zeh7E8eRnj12twSalYM2tFHBMdGsPSZOSK/Ts9qWaTPRFttQ44viGqQ
NvQwiWjoR1TCPcvxF6nknuX4mGOpX4YMbaIbAJ6vuz4nhXghxiCMCFdZjM87hZEm3MFUfxWK4R5Ekex+QFWsEhbJsnbIxKn5Wfn0TFZe/WEKClKVLdD1
p5+ZbdlxfVFUmOF31BTC6ymvQN4c7bPUuMimmaP9XddCKlTGuktsX17Ic1EqcSC/kZ8+//ypzz/CdoWTsp36YRYyi+p/ky/UjidVWE+bidbT3obySHep
pPFOUeHMYTsM5TLkPiDMfROZR97imUr3OfFEbYBoUY9vz3EMXgzKtUyBAlghaPzAitMHtsIeSTmjEVXqUs1EQUwJMpXiU407PGR6Jo3LAtijMPQKLO8F
1p5pWSOKOHIM4rHnAUVci3RsU3iUSSoxJkGQ8fV9r15lA9nvGaZYOjVTfAVqh+SIa0BpkmtzL3+fkiOmFrlRrh5Gmx66BzXhGByFpRzL7GurEi6KOR7A
xagXEGIjhr0cMfZ8gHoAldjacy69m1Cd7MbQfV3orGsL9oLLchubuq+ra1CQPSe9UFF/moJSxFv5qGXlLlSpbfGIRYZ+WGXDTVAvBDI0/UUULSvQ9BcR
tDW4NAos3xQlAF5oRflLn5dYJ9+NJy1pXE7y03JyF6qyOsW0LdPmglbAFQFtM+AMtxZPy63qj9OQW1zD/9Hqo4my4aSUyiamVHILlUr+GKVSmFUqERVQ
jKmAaQLCRyLupTOK+11Ycsa+tu9O5LccFm49cYXoUg/KJp5PDE1g87qXIq5wcJche+o+pPv6i/C1gxJ5v598qKEspqNXe9P1ZpnpejP1bxXIcc/93Ivd
gYo+HlvmkD1UCgsyyxNg105W/9k56n/683Mzn/8dBSq7tmV6/i++9m91BEtTISxageuP2+xfHGi91jst3O6/O5uensFoYdzFNQVdh/pM39eamOVAzpWE
+89M0kt21zzHS/bF9d3qzxRA2PzleDxxA4BtNVo9WGQQ5mS/Coh3s0hOFt9z76vGelg4Jwrv46WYuekC1X9Q4CLbN1VCn1gBezTSTC+KNDPTkeYVyHuE
2JNi2xxtnq+m9EOUlPIVnz6X3Y55gdA4UVl04yTFrI1jEtKNhfnCc71saCwWw7UfpSC3w3pQBwqyvBapiYmTWO1t4+ZcHG7k34FimPNGSbfv0yn1xsuL
kUTavAulSBYb3U1MFU1nuRtX5yaz0VcgyzLPKOlKPpqjbqzMR+Aft/bPKchsEztAXwVgX8FSs+jGnEQdz6MmzhvLtN5TPqegZ5DjCS+U5ISE6cvE2WKZ
Mjbbe5F/vST+kwpKrpGI/3+mxu35/4pFvtV4CrBj6TY3nCjpe2I2tbEoT7f2nRSUmxHBQ10o0tl5du7uvHxrrGJ/4QqowyfkR/XynKM6xXzvwlJItabt
fUDcj4qya9/NQI5pYg/tQDH83yyJ80//55ZEiY3+/49dWKJ0iDzETCTv7EPNxeT4Nbg4IUdk7o+K23Y4t3HDn/jFs68qF39xF8ohQ3S7vUR1OPVAcfGE
34DlcGfhrCfa/6KlJVP8hQI55gN4J6DFrJO0+NP7nBbSvUCfnjfnlAOyWKi/n4J8U7xUENqCNxO1xSlk770IpUOTcSJKz19YMtogMvekWn3R3FMP6I5f
4xxu0P8FAAD//4uQH6w=
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
