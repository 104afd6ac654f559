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
eNrMfMuTI8lZ+JTe+vRode48NJpXT82OPe5dz3h69mXv72db3a2ZlqdbaqfUa+9iqCipstXlLlVpq0q900AAgTfA4QMBNmH+AcIH+wIHuMCJIAgOEMGJ
CAeBDxwcRABHmxMEka9SlVRSv3bXPrXyyy8zK7/83vllw58m4KZH3CPiHj8aWeOBaT86evyor1vWw5Hr+A5aFr0Pee/Do8fqXyiQ2tAtC9Ug1xt7pk08
r6qsKA+SOGjTvpGl+/uOO6wmVpQHeRy00WVIe77jkmqSdfAGHeER3zftgVdNrSgPijhoo0/DkmmQ4cjxid0/1g7JcTXNxpZD4OfkmE7SH7subVYzfFnZ
Xn/83qOB6R+Mew/7zvCR2NdnD8a9R1EKeI/Y1t8e9XoZ9usJ/M9SHJlGlm7PJVNtIV3V7yuQ2yR90zMdG30WUnQuRsTC2rWHM5M93LV0e+sSZmjoMqS8
Q3PE6UqhtIW+ADmL7PuaM/aryZXkg8LanbiJxj3L9A4aruu4OEsHtMf+eh6yztjvO0Oi/jwJKboaJSWxjZFj2j77sDwO2ugqZIbEP3AMcbaihRCkRrp/
IA6W/UZvQfr9MXGPqyn2Ueqc3T38KkVq2L57jPkA9EXIHhDdIK5XTbOxL88bu8XR+Gg5iH5NzzE4IxQx+42eQtkjfZf4mpw6O5dWHYbI58YlL9Ty0FuQ
9cb9PmX9HDu123ETcAw8tgiW6GgFCn2XGMT2Td3yqvmV5IM8DoNqbwFMiIEqkKT8zo+A/qTyc6RbYyKIzxtfSLyl1L4AxTApzjJWfQ+K4Q3TM+YkEsNF
i8I5KeTZ8xblF58MqZBLwQ7a6h8rUAgRg8m6r/tjj1DNkXyQxkEb3YXiNz3H1hinEVesUqCwXQ5Cd4A1NfL+mJKQrwYU1GAQdB/K+6atW1qwSoqtUmLQ
jgCqf6lADhNv5NgeYftiHWy/aSxaaH3ChQnGKg9iTlrOcgInJieceKGz+kMFKk1KipFLfEzeHxPPR69AiiqYBVqEam3MkNCbkHPFN7PpC2s3FmwLB8iU
THrfNx1bkF201P9UoCyUS5urEvQ61fOUHegXlWNFTKDSEyGYY6MqZIfE8/SB3LhsojchQ6ji8k6r4AQ6ugl5l+wTagcIMy55PAGgNbhCXoxMl3iavu8T
V/NI37ENj9mYEn5JdNZpX4d3qT9SoBheitKFyq8vT1C00BXIuGRfM6WqTLtkv8k0Zd8xpKSw3+GNp6Ib/yK1jUfEpdOnGTHj1OhT0zZMe9ARmDgYs/o9
BYphUqNbcL29191o7zS0TrfebWh7rc5uY6P5tNnYrFxCVwFFuzfbrUZFQVW4HIU/rTe3G5uVBLoOV6I9u43WZrP1rJJE1+ClaBdudPG7ldTqEJamPhmt
wM2nTTZQ6zTeaeBm992pT6vB1RmMBsZtXFHQTajO9H2tjlv0OxIXsf//kII7s+ZcmMwzuQATn0H9qwQsYTJyXJ8YUmQijKrMMmrq0LQ5J5VjLY6Y57lp
G5jhohUoMv9KE1wolCWDYcaKq7AsXTONo5qGYMAl2dGh8KYxEen0eUU6M0+ks2cS6dXfhkJos/ToJZM9b7Y2p5jmCixHencarb2KEpYCBu5027ih1Te6
zXarkpiZs9lt7Mje5EXY6ad34VYMO7kGcc/pT9ZOYs8TePE3odJ1dduj1vpc9uRtyLp8nDAnd2Pwm3bPGduGWADLEeq/JqAc7aP6kbE6lwHOyuvSk+R2
+NUTV4jxKbcm1pzbkIcnz7LYpqdC3uUdKLikT8wjYmi6z4QkiUGC6v4vyLX79wQU5PHSeOMJpBmziaONs/wt8kGbomxdwhwX1SBrDmzHJUYQeEgAakCx
r9t9YvEFmJKJl+WNENrWJRwZhr4EOcpMPb1/yMgaz0V15nBsCMStSzgYRCMGwfVMz8RHG1M6l+7DmXgsLhlZ3MjGbyDgjZF1jDk2DZ+GRLdNe6BWoBz9
PvXfFCiGB005mqXA0Xw67Wi+esLyp3c2kQoldoqaaWhD3T0U+r3AgE1jR3cPL8RhGIrhk43YFLmwmCmwKW2+NqWHS3TPsWVAwVvqf2cgJ9nwTBNOm7zE
6UxeMt7k3QLgC/rHo8B5ZJDu8Yige1AyiGXSY+IYPDFRlECGpELJ9LTe2DrkH8+4M4cLprc+tg75Dt+EXH/s+c6QuNXsXLncECg4QEZrkDZ9MqSBKOWa
m3E2mVHGJ0PMUWn42j/Q3QHhAWh8+MpG1YfO2PaxREevQdrXXxCvCqcax5HR/4O8YXp9CvKqhVONnAxAr0F2pB8Pie1Xi2xsLc5L4BhYolK+6jvjkWNX
S5yveAupUDRtz3fHTE69apkfWBiGXoHl4FQN3Se+OSTVJabOK7JjU8BptMk5xBv3fMfXrWqFTclFriOAlFPYD01SfpkvzIAbgrx3oMCROJERZ10G6jJK
1iAnCVN9iYfZsk0HC1ZlX3GZD+a8yj7hPpRH+rHes4imMypXr/AvFVBOevV3FMhJRqPqxNaH0htlv6kiGB04dqAIWINCyVA3LZnXYw16eLphuMTzhE6P
O7w6x8ASVf1nBbICSEMoy7SJ9lh8Q5q2HgfgNfkVtLVGCWTptsG0nMhDyDaLumgMlRJRFw057kLRG/c0y+nrloyv8rjgjXvbAkQ14ci0hetKf/JFfNMf
G4QJK1uEt6kPbzn2gHfmuL4IAOrfK5APxDEUHSrh6LAGuffHOg8nEzyzKtuM9q7ZD7KnrEGhvulbUkHxxgyrp2NY/S3IOiPenVksmG2GhiW6akEhBP+Y
96LqYjXOoxMkJbzhWAtFj92dpKXY7yAAT00CcPVdyO5OlAffpgzneYulP7jkCGPFW+g2FDz3yNV898XEluQpqOu+aBrqhwlIcz1/HXIRA5bEWWGF441c
4nRG7mJxXdTIpU80cpnTGLnsjJFTfzcBqN4/tJ0PLGIMzhdqPJTeKw80qvPYdeK45vR+n4x8wqmUw0E75Hukwr4HugH5kUtGGtP73I3PUUCX6nvm5VM0
jXEQpwVw0IZjEErN/oFuD3gUkGXD8wJS99XfSwBiX8gTkZ8IESZOp0jbCadzfs4puon01Cao2mQUGpr22Cceo0ISFyhsh4Om6ZSdppP6cwWWqBr02u3O
J0KFFShS/0fIDA8B8xgojMmMh16GMpf0ACfFcIocKrBuAeiW5XygEcPktMnhPIM0DNPnG+dBBqVdRoaBHFT31R+GNv6xZUtfg6vSR9SGundIDM0eD3vE
FSxwWfbusM4W65O2LhXYuoskOr6dhduzeQeeMT5vpmNx5uSEPMfvJ6DE47NPSurikuXU+PhkOJLGh/5Gn4LiB0R3TXvATotz1dYlXBBQekrfVpSJ75UJ
+163AUa6qw+Jz++0aOgXgqwvQUkLT69+qEA1uEKQweonn/r5UXAgH5sc3IdyIAeccvwwShK6yyg4OatU5KxijXI63ijH3FNnYu+pg0RD9kyJhguI4n+l
4OUYUTzSTUvvmdTNPe9V9t8ogJgfcQHB+mhDdgQpZ0T4QeYw+32COVO/l4BlqpF/afZwE/LicIQjTC2MBMwYsvQpDFkm3pAt8FQuwm8/eQD3ZtnGIF7f
NUcL9b+6DEubDK8nHUT1X1JQ2JyMRWVIBHFGwjSo9B8R1zODJJJsskIUulDf4XFpCQdt6sMYpjey9GONhbgiKSZgLRrpqlDs6yMuISaRhI7A0DrAkdPX
e2NLd49FEBWXeHwnQHrmOuMRDo2iUZgugrTs3ChMKMr9feJiiU51jqyT0bz+ARnqLOgs4rIEdxgUfR7ysoBDZn3iMkwNgYMn2OgJZPktv0z7XJ9bLoEl
Jg38Ta7DRMantkDLSVT0mEb1Q9P3qkUmdHErbTMELBDRl6IVFSW22K04YQ2wIgUX6vcUWJo6HGpmB/SHjC9ZA12DrGNrVMwYn+VwxrFZIH8D8o6tiZBR
RBmOLSLj1yB1SI49UQGzspA1npNjzLDVbylQisBjUzGfg5Q7toi4E4xL/r1DY2BWg8IwqawwV5WFQ5SbZZPOP7ZNX7ol9Lf6AwUKIb6blw7isXgiHIvf
gULvWAsS+pwo0DuWzgZ6BZYnHorkXX6dUpl0CO69AwWP2IankSNiS58bGKhBIepPFMhJ3o39yhUohNSPrCsJgeg+DhzPl3EBb7CCHeL65r7Zp26JUBIh
EBXBUDNcnhYC0wN8G8ClGIxxxRVF3JFh3SeMyXHelT9VA/IBnKo14ULJa4SgzbJ8xDUdIyhkSDCMEoeKEga6297Y9XyhFnlD/RXIcEE+Jw1p5ExcbVLg
l8O5EQ11HZeof6sATITwnCs8gYyjj/2DNXHNFKch2nWKsHUJC1S0AXnPHNi6P3aJyEPei70bYjTsSNStS3gybj3DLyXV76cgw1dAT6ia0EWJXDlW63Sd
Q2I/o0iY40ZK6xJTpXVxJXQ3IO/TSbSxawn+yzHAnmvRzr5lEtuf+KU5Dmga6B6URKeo2RKJGw4UB92GMiUSPZQ+v7/Lss18Ok6FsoH1CDqeGs4KPPvO
SGY/eYN+i0v2XeIdaOzjq3n+LQLIyISakTiGG5vPzD3gh7sBLr8ECw0OFbAVIgVs4UK1YrRQrfb/YWlqyjNdg/0sAZVpFgoVzCmRgrkNyOvWwHFN/2Ao
1Pf9OLMqJ6pLZDwZh75MWanvGKY9YCxTji2SDOZoCFwcjIqQIxUlR4iE6QgJAwpkwmnWz0DFN4fE8/XhSJRXiqTPUgAXxYU7YVTq9uo+Y5b4wqauRH3K
MEPTcYD6RxnICk8itnLgbciOxu7I8aSdXBCi7nJELEegtyDDbBMRBF6ZP5bZKoIFfoh8qTkllOkIR1yFzMgl++YLQVfRQl8MHXJ2LpXEN8QccdzB5OIP
5hVY9h2LuLrdJ4H5yDMDUQk6pAUJp7KBu90ylX1Z1mpw2RPVF9SImwObGJpPXvhC+oCDuuSFTy3p5Ev5BPzyrhyAWf0EasUwUJmR5t580gR8NMNBNBSw
HbpnQZ4lbncYTJDmU7AU3KELrPA9X9MQeK9Dmuu35ZNie6byMMdmTkRgGrWR7vri9q88Ae/qrk/N+2TrDI/fA5YCKEWjtrYYXmdhQbe0OomQ1bkKGdPz
xkG+ULTo+vyXJgIMwd0lDu1wIEu7jw2TVbIJsyTblCHl72ASzvJLEi6mUdchw919auiGZOi4x9qwJ30eDtjp0U7T1vYtc3DgC3cnZ9pPWXvVh3zgBKMa
XH2nvr3X0PDe9nTd4w24Fur72lZ7u6G19nbWG7iioCuwHOpstxpa+2klga7BSyFwvfWu1m18vVtJrloAE9NPp+62nzda2jNcb3Wn1lXhdrhzY7vZoH9w
Y7PR6jbr2x1erBbGwY2nuNHZ0hisklj9LbgcZ5vRfbgrpqvvdbfodBv1brPdmvqCO3AjHm293mluVBR0G2pzENqb71YSqz9QAM2aKnQP7nSaz1r17h5u
aPXtZ23c7G7tTC1+F27FIW3t1De0zlb9cUWZN49EWXv9jUriJKTXH69VkqsuLM+YQ3oAk5GN1kabFZHOVJ7G4Gw1vs4PJ6Zvvd5pvPFaJbH6XQWWpowY
WoGb3eZOo9Ot7+xqT9t4pz7NFTehOoPRaWy0W5uUH+7CrZneneb2dlOiJGInwE83njx58vlKcvVbSlB1J2we5YJma72919rUdvfwbrszLSDX4co0Qhtv
MvGowdXprqCSMmbYTvPrjc1KcvVnCpQi1pNymkTubGw1dhZ8g+hvfHWPy8hs13qjjhu4koiZNcw7SVSFy9NDGeenKBXnjHxcSS+Yl7JbBl0FNNX/la91
K9nVP2El/FGzRM9UIk8OLrr7W3B9FmXCFSrcnu2eYovYKSZ88U1YmnIlKK/KEXOEI0S+KdG4AddmeqRgXCTB+L+puLulA6Jb/sF5U9lfgsqGY++bg7F7
rrtp9TkshyYQTybeYCnInkWG/LXLnPoljoIDXPVNyApgYJ+VkH2ee+OhXga0cUD6h1uMGDKHOoYMB6DXolcscalGjnnKG5aI8U1Gja9ahuKmq5syp64u
QUm0OXlWfwMKodWouG016tvdrdiXCVW4HOntNPA7zdYzLvuRns3GM1zflI8Tol243mSPAi5Uxf3du3GPAofEHp/3anPx3eUBALsz3jgY24dnu5r4rCwR
5IWlcdih6kD1GZTEwwyx2BuQ2xeABRwsxuAAV/0DBbICOq88CIXyl/lJhlJyWnL+Q5jU2R/CqH+ehPwOscfnoOFD+Wp1/t0vS3LJ96xvA/R1n1BHiMhi
89iKTo50jEPokwNLnebA0AaUxGUPS1PL95KxlVwMj19AiLsg1mBJ/mgh2PW5w4MaMPSqLAfltxZX46J3/YUsA30yKTvNzV2Cl0IGFafqN6CEiW0Qlxj8
2N6EnCGezi6oYJeva3GAHFRGJyaV0eqPU5Bm5zaPQWMv7RJzLx5ZQjMZSmjG1RxWJzWRPDSSTZawc2xf7/ta+Ja/KID8qvrc1YfykvuIsJg+h0WLBmQs
iDXtgUZsvWcRHtHn8JKENzg48sS6EH1iTUPkoWmLa3KeIeIxfmlo2uySnMVhEm9k9g/HosiqxO4eKd4ug7JKq1VYpniT2jOKWWaYdIJNWX5GcZ9A1jeH
TEUtzeWtLsPAEhN9GYr+5GGEV63MLaFmxaAtfUhwZARLn5lD8uv0rJZF+ky01SZk+IKoAklDD5KIhn5MJdyzHH+RSu5Yjo85lvplSNEmugXg+brrc1KI
F2IMwohwncX4vFMYacIdTPVXIR/sQRTJDsZUxSpBkSxrB0ycmJ+VT85k5dUfJiAnVdkCXX/2mdmWHdcXRYUpfkdNIbye8hpkzeGApcZFNs0cDvZcC6lQ
GukusX15Ic9FqcCB/EZ++vyzZz7/ENvlTst26odpSC2q/42/UDuZVEE9bSpcT3sXikPdpZLGO0WFM4ftMpSrkPmAMPdNZB55i2cq3SPiidoA0aIe377j
GLwYlGuZHAWwQtDogeWnD2yFPZJyhkOq1KWaCYOYEmQqxacat3/I9EwSFwWwQ2HoFVjeH1v7pmUNKeLQMYjHngfkcSXUsUPhYSYpRZgEQcrXB161zAay
3zNMsXRmpvgKVA7JMdeA0iRX5l7+PifHTC1yo1w+DDc99AAqwjE4Dko5ltnXliVcFHM8gsthLyDARgx7OWTs+QD1AEqRtedcetehPNmNofu60Fk3FuwF
F+U2NnVfV9cgJ3tOe6Gi/jQBhZC38lHLyn0oU9viEYv0/aDKhpugTgBkaPqLMFpaoOkvQmhrcGU4tnxTlAB4gRXlL31eYp18N560pFE5yU7LyX0oy+oU
07ZMmwtaDpcEtMmAM9yaPyu3qj9OQmZxDf9Hq48myoaTUiqbiFLJLFQq2ROUSm5WqYRUQD6iAqYJCB+JuBfOKe73YckZ+drAnchvMSjceuYK0aUelE08
nxiawOZ1L3lc4uA2Q/bUASS7+ovgtYMS+ncD8YcayGIyfLU3XW+Wmq43U/9agQz33C+82D0o6aORZfbZQ6WgILM4AbbtePWfnqP+pz8/M/P531GgtGdb
puf/4mv/LpKU+I9U3NNy17zA0/LFBdfqzxRA2PzleM1wC4BtNVzOl2cQ5vW+Coh3s9BKVsNzd6jCelh8JSrho7WRmemK0b9T4DLbN9UKn1hFeTj0Sy4K
/VLTod81yHqE2JPq1wxtXqzI80MUl4MVnz6X3U54ElA7VZ1y7TTVpbUTMsS1hQm8Cz01qC0Ww7V/TEBml/WgFuRkvStSYzMZkWLY2u25ONzqvgP5IAmN
4q7Dp3PctZcXI4k8dhsKobQyuh+bu5lOO9euz80uo69AmqWCUdwdeThpXFuZj8A/bu2fEpDaIfYYfRWAfQXLlaJbczJnPLEZO28k9flA+ZyCtiHDM1Ao
zisI8omxs0VSV2y290L/u0n8axMUX7QQ/QdPtbvz/zeKfDzxHGDX0m1uyVDc90SMXG1R4mztOwko1kOCh9qQp7PzdNn9eQnQSAn9whVQi0/Ij+rlOUd1
hvnehaWAanXb+4C4HxVl176bggzTxB7ahXzwz1Ji55/+VyqxEhv+hxx7sETpEHoZGUve2ZeTi8nxa3B5Qo7Q3B8Vt+1ybuOGP/aLZ585Lv7iNhQDhmi3
O7HqcOrF4OIJvwHLwc6CWU+1/0VLS6b4MwUyzAfwTkGLWSdp8ad3OS2ke4E+PW/OKQdksVB/PwHZung6ILQFb8ZqizPI3nshSgcm41SUnr+wZLReaO5J
+fiiuadetJ28xgXcoP8LAAD//0WlNcA=
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
