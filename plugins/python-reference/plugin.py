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
eNrMPEuMG8l14p98JGc4tVqJGq2kUUuytbO7kjXS7spexzZnhtJwNUOOm5xd78ZBo0nWcHqn2c3tbkoaJwiC2EkMn5I4sAGfHSNwLk6C3HIKjCCXAMkl
gBEkhxxyCXJ0glyCoF5VNbvJbs5Io931iV2vXv1evV+9ekX4cRJecanzmDpHt0fmeGBYtx/fud3TTfPWyLE9myyJ2lu89tbjO8pfJyC9oZsmWYZ8d+wa
FnXdamIlcTOl+mVWNzJ1b992htXkSuJmQfXL5CxkXM92aDWFFbzAWrjU8wxr4FbTK4mbJdUvk8/DotGnw5HtUat3pB3So2oG2y4EwI/oEeukN3YcVqxm
+bCyvH7nw9sDwzsYd2/17OFtsa43Dsbd22EKuLdx6e+Mut0sft2Fv7oQRaaRqVuxZFqeS1flBwnIb9Ke4Rq2Rd6ANOsLiVhcO39rprNbu6ZubZ1REY2c
hbR7aIw4XRmUlciXIG/SfU+zx141tZK6WVy7EtXRuGsa7kHdcWxHzbEGrbG3XoCcPfZ69pAqf5qGNBuNkZJa/ZFtWB5OrKD6ZXIOskPqHdh9sbeiRAik
R7p3IDYWv8l9yHw8ps5RNY2TUmJWd+vrDKluec6RyhuQr0DugOp96rjVDLa9Htd2i6Px1rIRm03X7nNGKKn4TR7Agkt7DvU02XUullZtROR9q2U3UHLJ
fci5416PsX4ed+1yVAccQx2bVJXoZAWKPYf2qeUZuulWCyupmwU1CCJvMPmgI7cKOLUofmh7dKRyrOX7ABPakQqkmHjwHWOfTNwe6+aYir3ihS8l7yeW
vwSlIOWepa3y8yyk2SwYlS19SEUr/A7xTjKWd1KRvJMO8E4FUmPHFLLOPifclI3lJjar+dyUi+UmbDufm/IBbroIBSaRGlYUVhI386jmrHVWSSC9b5gm
7mJBxW/yBUijSiziDF6JmMED2xk+MKjZVxGTMcNIdzy3Woplhl3d8VSOxQYdfMsYVcs4GfyO4PmF5+L5Kc5dnOXcgFRUnk0qXoO0px/S6lLsKjv6IVUR
idxiNBlQt0pwkGokTQbUVTkauQZlh45dqrm0Z1t9t/rSSuJmWS0hsM1hn5EY/WEC0mxlkWJ0FUofubaloeBQR7QuMtguB5FLAEP9qWZSayD0blktDPWn
2whggmiPPMO2dBMFK6/6ZSaIfH9RvvKqKClvQsFnwshpRa5G+XEC0owT4xTCvmFShAuFIMtslT3b8qjlad7RSHoFRQHrHI2QOB596kndwL5JFXICBedf
UmUxLJXZsFQqFmSQN8gNWOiNHdd2fPLyCZc5VBKYzY6jcb0j9oDDkGHYeGwPOEvyLcgP9ac4jPIhlIIyxajOpVAMJ0qB3RAmlZcY5Tw6ZL6TpIxfVv4k
AcWANKEL5ene2KXMIUvdzKh++SS8dAWwqNGPx0y++WjAQHWEMJLtG5Zuav4oaRyljNC2ACo/TEJepe7ItlyK68IKXG9GFSWyPlHHSZT5mxFSLHs5RiWn
AiqZQJqZRckq7Ju8CTmqO6ZBHeFIXJwzlipxGZ/zPWW2piSUyWmlvdJgtB451FPpx2Pqekz1McdwjvfHvG0VkcjbkHfERLH7Y9biI7N90HtM8qXZ5SXl
RwlYEE5hi7uA5E3mfzB+YzNaiDQTApVtOVU5NhPIIXVdfSAXLovkbchS5nC6J3VMBbpyCKUgnC2CmRpPkluUyMuQdei+Zkh/NOPQ/QYqr57dl3KD38FZ
pkOzXP1+AkrBdZFLcKG119lo7dS1dqfWqWt7zfZufaPxoFHfrJwh54CEqzdbzXolQapwNgx/UGts1zcrSXIBXg7X7Nabm43mw0qKnIeXwlVqvaN+UEmf
5tTye1fh0uwhxHb61HnOY8vy3FOQ8ltQ6Ti65TLl9Fzc/Q7kHN5OMPfVCPyG1bXHVl8MoMoWyr8mYSFcxxjg0LD60hSxb7IuPUiudl4/doQIX3Jrorw4
R986vpf5KiwdUGFXoOjQHjUe076mc+uWUkGCat5n5Kr8WRKKcnvZqfUuZJCXxNZG6aEmfdJiKFtnVI5LliFnDCzboX3/+CoBpA6lnm71qMkHQLGNVhYb
AbStM2qoGfkq5BkzdfXeIZI1motqqP42BOLWGdVvxPSfQ0cmjzFET8Df25F5pHJsdogeUt0yrIFSgYVw/8q/J6AUbDRlF8u+XXwwbRdfP2b4Z7CNCpRx
FzSjrw1151BowCICG/0d3Tk8FYeoUAruDFmFJRn00eTAoqdFWdHiYzN6OFR3bUv6P7yk/E8W8pKNnqnDFShhYEkLWQZAmIrmIdgbRzXkodTvrc3gjT7z
s/mA6KJyuhUQgg7qNSj3qWmwbeIY/MhakkBEUqBsuFp3bB7yyQvftGi462PzkK/wbcj3xq5nD6lTzcXK1YZAUX1ksgYZw6NDt5qPPVpyynh0qHJUdlzr
HegOc3EK2OpyXKva0B5bnirRyT3IePpTKkMUx7XjyOTLUOgbbo+BXHEEPq7lpAG5B7mRfjRkDj8/Cy9HnvsQQ5WojK969nhkW3gkLqiiRBQoGZbrOWOU
U3Ykxg0LwshrsOTval/3qGcMaXUR1XFFVmwKOHOOOYe4465ne7qJR+CCykWuLYCMU/BDk5Rf4gMjcEOQ9woUORInMuGsi6AOUnIZ8pIweJgtqH6ZNRas
irM4yxtzXsUp3ICFkX6kd02q6Ujl6st8pgLKSa/8TgLyktHizoGjA9vyFQEWGJQOdcOU0V0ssM3T+32Huq7QyVGbV+MYqkRV/jkBOQFkPp5pWFS7I+aQ
YaU7PnhNzoKV1hiBTN3qo5YTxyZZRreQ+ZDiiMC+2fHIHXc10+7pJqvj8lt0x91tAWKacGRYIqzMPvkgnuGN+xSFFQfhZfIKFEzbGvDKPNcXPkD5+wQU
fHEMuK+JoPu6DPmPxzr3d5M8vi7LSHvH6PkxdCwwqGd4plRQvDDD6pkIVr8POR4YcEVkLVYwW4imSnTFhGIA/gmvRdHFaJxHJ0iJ4IIjLRTbdmdyisZv
/4SQnpwQlA8gtztRHnyZ8rzBS3iY4pIjjBUvkctQdJ3HjuY5Tye2pMBAHedpo698JwkZrucvQD5kwFJqTljhaCOXPJmRS53MyKVPYuQyxxq57EmMXG7G
yCm/mwRS6x1a9hOT9gfPd1S4Jb3PZGwMEAebOJ55vdejI49yKuVVvxzwPdJB3wMDSQ4daaj3uRueZ4AO0/fopTM0DTmI0wI4aIOdNC8B9A50a8C9+Bw2
LwhIzVN+PwkEZ8jjJp8KESZOpwgCCKcz9lA8tYjM1CKY2kQKDQ1r7GGkhCEUGWyHg6bplJumk/LfCVhkatBttdqfChVWoMT8HyEz/AhXUIHBUGZcch0W
uKT7OGnEKXGowLoEoJum/USjfUMGUQsIqfcNjy98ZDsep11WHuM4qOYpPw0s/BOLvdyDc9JH1Ia6e0j7mjUedqkjWOCsrN3ByibWSVuX9m3daeIQ383B
5dm4AY8/PW8gYn5g45g4xR8koczPZ5+W1EWF3nhUeziaRLWHI/I5KD2humNYA9wtzlVbZ9SigLJd+m4iMfG9skHf6zLASHf0IfX4NRc7+gUg64tQ1oLd
K99JQNUPSMrD6qcfuvlzf0M+MTnAcL+QA065lAz3c+guUnCyV+nQXkUa5Uy0UY7IVshGZiv4gYbcMwUaTiGK/5WG6xGi+Fg3TL1rMDf3eRMa/jYBBP2I
UwjWiz2yE0jbI2qJey/8PsacKd9PwhLTyL8ya3gFCmJzhCPMLIwEzBiyzAkMWTbakM3xVE7Db/+ZgYuzbPPREy8+vehHKSi969rW+7TbsQ+pFbgZS4Ru
xupQOqRHGrV6dt+wBkjphciMgGB3j+iRWjykR3XRjHwZsj1TN4YylHv9mA42GLIq2pBWSOPyFJfbx/Rwa9dvwYN2gS7Iq1AxjX0MKfjX1RmMEC5KuLix
DlwlZkNXicErw1z4ynD512BxavRnivDZsDRDi5PfEQe2MhXayirkRK6X9D9FcXUEi1O7RxS4/G671dTer69rndajelN7VP9g6m5mGc5F4Ki19ysJcgku
RNSt19r1t+5Vkqfh9p+9Ctdmub1P3Z5jjOZ7O/OkRFmCxU3spCvPSsq/pKG4OemYLEDSP3InjT6j6GPquIYfT5VFzMxjvfZsU15WyzJz5/uGOzL1Iw13
VMSHBazJNlaBUk8fcWNhUKlzQjCyDvDY7undsanPzdR5z0d66NjjkRpoRe5DThfxilxsQEL4DPv71FElOjO/MnFQc3sHdKiLnJ0FCW4jlHwRCjIrSQZA
o4KtdYGjTrDJXcawjHVlBPRCbC6NKjHJPcgZ3JyL4OfyHIMvUckdyJrG0MAMoETMSNuIoApE8tVwok4ZB7sUZbd8rFAej/L9BCxObQ6T6AH7kKEWLJDz
kLMtjVkc5LO8mrUtjGldhIJtaSJ6Ig7ctiWCRPcgfUiPpL5cmcsaTGEjtvLtBJRD8EjN8wVIO2OTCnMQFQd/j+kiTD9CTCYreGrDyADjZllk/Y8tw887
Yd/KTxJQDPBdnPbjYalkMCx1BYrdI82/m+JEge6R9LvJa7A0sQSSd/nNYGVSIbj3ChRdavVdjT6WOTB5FRBUZxDl3xKQl7wbOcsVKAZ0k8wICYDYOg5s
15NHZF7APDDqeMa+0WMmRiiJAIiJYKAYzNcNgNkGvgPgMAxkXDRj0VcXqu5RZHK14MhPpQ8FH87UmjhNyBs1v4wBb+oYdt+3qEnEKHOotKdnIdMdO64n
1CIvKL8OWS7Iz0nDi1AYUUebZDzn1fyIOujhKf+bAJgI4XOOcBeytj72DtbEjWmUhmjVGMLWGVWgkg0ouMbA0r2xQ0VI/lpkJgnSsC1Rt86ok3bkLqQ+
euLNuScN2u6tMyrDXs/yS3nlB2nI8mmRu0y36CLReCFSVWEXDxmSynHnJplGJSJfhILHOtHGjimYNo+APcdklT3ToJY3OdflOaDRJ9egLCqF9yICnxwo
uKMFC4yybCd7/P46h4v5fJTexYa1ELo61RzT5Hv2SN4e8ALPZdx3qHug4eQx7bSglgSQu8yNkFfKLdSrsVwx1x+dOJnFWCez9GKdzF8moTLNd7GngA0o
6ObAdgzvYCh0/o0oWyw7qklkddKOfI2xkjhGpLCP6/P6kGcH1W8VIkc6TI4ACTMhEvoUyAZ95Fehwpx819OHI5GwK7z4RR8ucgl3gqjs2Kh7yCzRp6CO
RH2AmIHuOED5oyzkhPsRmTnzDuRGY2dku9K4zgnx7HJEVbYg9yGLBo0KAq/Et0UDR1WBHyBfOiZjMhPiiHOQHTl033gqj0W8RL4S2ORcLJXEHCK2OGpj
8tEb8xosebZJHd3qTU5xBbQqFb9Cmp3gVRBwX11eBZ2VuUpc9kT2EbP8xsCifQ2TYksiwoCgDn3qMfM7mSnvgF9+L/hgnrnajGCgBSTNtXjS+Hw0w0Hs
/GDZbM2CPIvcWCFMkOZzsOjnoAis4D15oy/w3oQM129Lx8XGUOWpHBs9D9+eaiPd8cTt+cIEjFnKN2BCDI7H79HLPpShKT+f5O1w1TrvWYy0OsmA1TkH
WcN1x368XZTY+PxLC598yxza5kC8thr3DWr15IWcX2YMKb/9TjjLL0q46EZZhyw/I2CyMh3azpE27EpHiQN2uqzSsLR90xgceMJHyhvWAyyvelDwPWd2
wH6vtr1X19S97enEyItwPlD3/lZru64193bW62olQV6GpUBlq1nXWg8qSXIeXgqAa80PtE79G51KatUEmJh+1jU/sj9Ua83O1LgKXA5Wbmw36uxHrW/W
m51GbbvND/9BHLX+QK23t3gcoJJc/W04G2WbyQ24Krqr7XW2WHcbtU6j1ZyawRW4GI22Xms3NioJchmWYxBamx9Ukqs/SQCZNVXkGlxpNx42a509ta7V
th+21EZna2dq8KtwKQppa6e2obW3ancqibh+JMram29VkschvXlnrZJadWBpxhyyDZi0rDc3WpuN5sPZyEwEzlb9G3xzIupkZGb1jxOwOGXEyAq80mns
1Nud2s6u9qCl7tSmueIVqM5gtOsbreYm44ercGmmdqexvd2QKMnIDtQHG3fv3v1iJbX67YSfdSpsHuOCRnO9tdfc1Hb31N1We1pALsDL0wgtdRPFYxnO
TVfVNhiH8PTh6bqdxjfqm5XU6i8TUA5ZT8ZpErm9sVXfmTMHUV//+h6Xkdmq9XpNrauVZESvQd5JkSqcnW6KnJ9mVIxpeaeSmdMvY7csOQdkqv7d9zuV
3OoPMaE+bJbYnkrkycaFV38JLsyiTLhCgcuz1VNsEdnFhC8+gsUpV4LxqmwRIxwB8k2JxkU4P1PzIkKW/5eOups9oLrpHTzvVdBXobJhW/vGYOw8V26H
8giWAh2IBwxvYdyya9Ihf9wSk//HUVQfV3kbcgLo2+dEwD7H3hgqZ4FsHNDe4RYSQwZex5DlAHIvfEUZFZ/kmCe8oQwZ31TY+CoLUNp0dEPeSSmLUBZl
Tp7V34RiYDQmblv12nZnK/LpQhXOhmrbdfW9RvMhl/1QzWb9oVrblK8XwlVqrdHE1wunYcB/Wol6Wj2k1viTeaNwAIA5FxsHY+vw2a723pAptsnYR4qB
7FrlIZQfGBaTfDHYW5DfF4A5HCzaqD6u0oScAMZl15FAzLMwiWpKRkuFGfsvUlDYodb4OUhwSz7dj099wMCWfNT/DkBP9yjzY6i8YItMaOZIR2oAfULv
9EnoTTagLO46MTQtH41HJjIiHr90EFehWMDAfjgP8kJscz8Fkrwus6H5TcW5yNerT2UW9N1J1nU+dgieCewnXCvfhLJKrT51aJ9v29uQ74v/D5jzAEP+
xYDqI/sPA5KThwHKL9KQwX2LY7DIO+tk7L07BjFTgSBmVMptdZISzE82sojxNtvy9J6nBZNcSgLIMzWeO/lW5ng8puLJtiix8xSeQQ1roFFL75qUH8jz
6qKE1zk49D8TxfD/TLAT7tCwRJYID/DwI3p5aFiYI4LHKIk3MnqHY5FjWMard4a3i1BMNFyFJYY3Sb1kmAuIyTrYlNmXDPcu5DxjiBpmMZa3OoihSkzy
NSh5k3c9brUS+4IAc6Gb+pCqoRYY/TKG9Ftsr5ZE9EuUlQZk+YCkAqm+7scA+/oR/tOBaXvzNGrbtD2VYylfgzQrkksArqc7HidFQmTZMggS4QIe0Xml
sLGU+4fKb0DBX4PIER+MmYpM+DniWPaZOBkfiU/NROKVnyYhL1XZHF397D3jkm3HEzm1aZ6iwSA8nfg85IzhQJv8WULWGA72HJMoUB7pDrU8mY/CRanI
gTwhZXr/c8+8/wG2y5+U7ZTvZCA9L/09+hLteFL56eTpYDr5VSgNdYdJGq8UCf4ctoso5yD7hKL3JQKHvMQDjc5j6orUGFFiDtu+bfd5LnRevGq37T7m
QYc3rDC9YSv4xs8eDplSl2omCEIliCrFYxq3d4h6JqWWBLDNYOQ1WNofm/uGaQ4Z4tDuU/5PEQW1EqjYYfAgk5RDTEIg7ekD/rcQBRW/Z5hi8ZmZ4l2o
HNIjrgGlSa7EXvg+okeoFrlRXjgMFl1yEyrCMTjyM5mWcLYLEi5ymW7D2aAX4GMTxF4KGHveQDmAcmjsmIvuGixMVtPXPV3orItz1qKW5DI2dU9X1iAv
a056H6L8RxKKAW/lRcvKDVhgtsWlJu15fpIZN0FtH4ho+tMgWkag6U8DaGvw8nBseoa49nd9K8ofur2ElXw1rrSkYTnJTcvJDViQGSmGZRoWF7S8WhbQ
BgJnuLXwrNyq/CIF2flPWF6sPpooG05KqWxCSiU7V6nkjlEq+VmlElABhZAKmCYgvBBxLz6nuN+ARXvkaQNnIr8lP2/xoSNEl3lQFnU92tcENs91Kahl
Dm4hsqsMINXRn/qPfRKBvwOI3lRfFlPBm7npdMv0dLql8jcJyHLP/dSDXYOyPhqZRg/f6fn5yKUJsGVFq/9MjPqfnn52ZvrfS0B5zzIN1/vsU19PlXWa
jvrjA8c4xR8fzH9voPwyAUQ1fjUe81wCwKUGU/gKCEGv93UgvBqPVvIxCHeHKliD5yvxECScGpydTpj+uwScxXUzrfCpPagIHv1S845+6emj33nIuZRa
k+TvLCueLsf5x0tRIVQx9Vh2O+ZFzPKJ0vSXT5JuunxMgHd5bvztVC9tlueL4do/JCG7izWkCXmZ40qUyEhGKAF2+XIsDre670HBjyGTqNvs6RD18vX5
SCIM3YJiICpMbkTGbqajxssXYoPD5F3IYCSXRF1xB2O+yyvxCHxya/+YhPQOtcbk6wA4Cwx1kksxkTMel4zsNxS5vJn4QoJsQ5ZHoEiUV+DHEyN7C4Wu
sLcPA3+EJP7ih0TnHIT/LWn5avx/B8m3Q48Adk3d4paMRM0nZOSW5wXO1r6XhFItIHikBQXWOw+X3YgLgIZekMwdgTR5h3yrrsds1TP09wEs+lSrWe4T
6rwoyq79JXOSHfx/kV0o+P/1E9n/9D8BRUps8P9k9mCR0SHwMDiSvLMPh+eTY5dzAzfMkT3OvsKd32MLSv6GtVrtSHU19aB1foffhCV/N/xeT7Rn84aW
m/azBGTRRrsnoMWsEzN/6h1OC2n+yefj+pxyEOYL3Q+SkKuJdH4hzbwYKc3PIBsfBijtq/QTUTp+YKl2uoG+Jynd8/qeenB5/BincFP+PwAA//+0a220
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
