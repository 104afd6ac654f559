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
eNrMPEuMG8l14p98JGc4tVqJGq2kUUuytbO7kjXS7spexzZnhtJwNUOOm5xd78ZBo0nWcHqn2c3tbkoaJwiC2EkMH4IkDmzAl1wcI3AuToDccgqCIJcA
ySWAESSHHHIJcnSCXIKgXlU1u8luzkij3fWJXa9e/V69X716RfhxEl5xqfOYOke3R+Z4YFi3H9+53dNN89bIsT2bLInaW7z21uM7yl8lIL2hmyZZhnx3
7BoWdd1qYiVxM6X6ZVY3MnVv33aG1eRK4mZB9cvkLGRcz3ZoNYUVvMBauNTzDGvgVtMriZsl1S+Tz8Oi0afDke1Rq3ekHdKjagbbLgTAj+gR66Q3dhxW
rGb5sLK8fufD2wPDOxh3b/Xs4W2xrjcOxt3bYQq4t3Hp74y63Sx+3YXfvxBFppGpW7FkWp5LV+UHCchv0p7hGrZF3oA06wuJWFw7f2ums1u7pm5tnVER
jZyFtHtojDhdGZSVyJcgb9J9T7PHXjW1krpZXLsS1dG4axruQd1xbEfNsQatsbdegJw99nr2kCp/moY0G42Rklr9kW1YHk6soPplcg6yQ+od2H2xt6JE
CKRHuncgNha/yX3IfDymzlE1jZNSYlZ36+sMqW55zpHKG5CvQO6A6n3quNUMtr0e13aLo/HWshGbTdfuc0YoqfhNHsCCS3sO9TTZdS6WVm1E5H2rZTdQ
csl9yLnjXo+xfh537XJUBxxDHZtUlehkBYo9h/ap5Rm66VYLK6mbBTUIIm8w+aAjtwo4tSh+aHt0pHKs5fsAE9qRCqSYePAdY59M3B7r5piKveKFLyXv
J5a/BKUg5Z6lrfInWUizWTAqW/qQilb4HeKdZCzvpCJ5Jx3gnQqkxo4pZJ19TrgpG8tNbFbzuSkXy03Ydj435QPcdBEKTCI1rCisJG7mUc1Z66ySQHrf
ME3cxYKK3+QLkEaVWMQZvBIxgwe2M3xgULOvIiZjhpHueG61FMsMu7rjqRyLDTr4ljGqlnEy+B3B8wvPxfNTnLs4y7kBqag8m1S8BmlPP6TVpdhVdvRD
qiISucVoMqBuleAg1UiaDKircrTPSEL+IAFpNulICbkKpY9c29JQJqgjWhcZbJeDyCWAof5UM6k1ECq1rBaG+tNtBDAZs0eeYVu6iTKTV/0ykzG+dSg6
eVWUlDeh4PNX5LQiV6P8OAFpxmRxsr5vmBThQtZlma2yZ1setTzNOxpJg18UsM7RCInj0aeeFHv2TaqQEyg4/5Iqi2GBy4YFTrEgg9tObsBCb+y4tuOT
l0+4zKGSwGx2HI2rFLEHHIYMw8Zje8C5jW9Bfqg/xWGUD6EUFBdGdS5gYjhRCuyGsJa8xCjn0SFziyRl/LLyxwkoBgQFvSNP98YuZb5W6mZG9csn4aUr
gEWNfjxmostHAwaqI4SRbN+wdFPzR0njKGWEtgVQ+WES8ip1R7blUlwXVuB6M6ookfWJpk2iON+MEFDZyzHaNhXQtgTSzOJJVmHf5E3IUd0xDeoIH+Hi
nLFUicv4nO8pMyMlqSdOKe2VBqP1yKGeSj8eU9djWo35fHMcO+ZIq4hE3oa8IyaK3R+zFh+Z7YPeY5IvLSovKT9KwILw91rcuyNvMteC8Rub0UKkBRCo
bMupyrGZQA6p6+oDuXBZJG9DljJf0j2pzynQlUMoBeFsEcyKeJLcokRehqxD9zVDupoZh+43UHn17L6UG/wOzjIdmuXq9xNQCq6LXIILrb3ORmunrrU7
tU5d22u2d+sbjQeN+mblDDkHJFy92WrWKwlShbNh+INaY7u+WUmSC/ByuGa33txsNB9WUuQ8vBSuUusd9YNK+jQHkt+5Cpdmzxe206fOc55IlucecJTf
gErH0S2XKafn4u53IOfwdoK5r0bgN6yuPbb6YgBVtlD+NQkL4TrGAIeG1ZemiH2TdekccrXz+rEjRLiJWxPlxTn61vG9zFdh6YAKuwJFh/ao8Zj2NZ1b
t5QKElTzPiNX5c+SUJTbyw6kdyGDvCS2NkoPNemTFkPZOqNyXLIMOWNg2Q7t+ydTCSB1KPV0q0dNPgCKbbSy2AigbZ1RQ83IVyHPmKmr9w6RrNFcVEP1
tyEQt86ofiOm/xw6Mnn4IHoC/t6OzCOVY7Pz8ZDqlmENlAoshPtX/j0BpWCjKbtY9u3ig2m7+Poxwz+DbVSgjLugGX1tqDuHQgMWEdjo7+jO4ak4RIVS
cGfIKizJeI4mBxY9LcqKFh+b0cOhumtb0v/hJeV/spCXbPRMHa5ACWNGWsgyAMJUNA/B3jiqIc+bfm9tBm/0mZ/NB0QXldOtgBB0UK9BuU9Ng20Tx+Cn
0ZIEIpICZcPVumPzkE9e+KZFw10fm4d8hW9Dvjd2PXtInWouVq42BIrqI5M1yBgeHbrVfOypkVPGo0OVo7KTWO9Ad5iLU8BWl+Na1Yb22PJUiU7uQcbT
n1IZfTiuHUcmX4ZC33B7DOSK0+1xLScNyD3IjfSjIXP4+TF3OfJIhxiqRGV81bPHI9vC025BFSWiQMmwXM8Zo5yy0y5uWBBGXoMlf1f7ukc9Y0iri6iO
K7JiU8CZc8w5xB13PdvTTTzdFlQucm0BZJyCH5qk/BIfGIEbgrxXoMiROJEJZ10EdZCSy5CXhKm+xE8FsswaC1bFWZzljTmv4hRuwMJIP9K7JtV0pHL1
ZT5TAeWkV34rAXnJaHHnwNGBbfmKAAsMSoe6YcrALRbY5un9vsMO/VwnR21ejWOoElX55wTkBJD5eKZhUe2OmEOGle744DU5C1ZaYwQydauPWk4cm2QZ
3ULmQ4ojAvtmxyN33NVMu6ebrI7Lb9Edd7cFiGnCkWGJiDH75IN4hjfuUxRWHISXyStQMG1rwCvzXF/4AOXvE1DwxTHgviaC7usy5D8e69zfTfLQuSwj
7R2j54fHscCgnuGZUkHxwgyrZyJY/T7keGDAFUGzWMFsIZoq0RUTigH4J7wWRRejcR6dICWCC460UGzbnckpGr/9E0J6ckJQPoDc7kR58GXK8wYv4WGK
S44wVrxELkPRdR47muc8ndiSAgN1nKeNvvKdJGS4nr8A+ZABS6k5YYWjjVzyZEYudTIjlz6Jkcsca+SyJzFyuRkjp/x2Ekitd2jZT0zaHzzfUeGW9D6T
seE9HGzieOb1Xo+OPMqplFf9csD3SAd9DwwkOXSkod7nbnieATpM36OXztA05CBOC+CgDXbSvATQO9CtAffic9i8ICA1T/ndJBCcIY+bfCpEmDidIggg
nM7YQ/HUIjJTi2BqEyk0NKyxh5EShlBksB0OmqZTbppOyn8nYJGpQbfVan8qVFiBEvN/hMzwI1xBBQZDmXHJdVjgku7jpBGnxKEC6xKAbpr2E432DRlE
LSCk3jc8vvCR7Xicdll5jOOgmqf8NLDwTyz2cg/OSR9RG+ruIe1r1njYpY5ggbOydgcrm1gnbV3at3WniUN8NweXZ+MGPP70vIGI+YGNY+IUv5eEMj+f
fVpSFxV641Ht4WgS1R6OyOeg9ITqjmENcLc4V22dUYsCynbpu4nExPfKBn2vywAj3dGH1OM3WOzoF4CsL0JZC3avfCcBVT8gKQ+rn37o5s/9DfnE5ADD
/UIOOOVSMtzPobtIwclepUN7FWmUM9FGOSIRIRuZiOAHGnLPFGg4hSj+VxquR4jiY90w9a7B3NznzVX4mwQQ9CNOIVgv9shOIG2PqCXuvfD7GHOmfD8J
S0wj/9Ks4RUoiM0RjjCzMBIwY8gyJzBk2WhDNsdTOQ2//WcGLs6yzUdPvPjMoR+loPSua1vv027HPqRW4GYsEboZq0PpkB5p1OrZfcMaIKUXIi/7g909
okdq8ZAe1UUz8mXI9kzdGMpQ7vVjOthgyKpoQ1ohjcuzV24f08OtXb8FD9oFuiCvQsU09jGkoLm0Z1t9fmArq4sS3ubgwFViNnSVGLwyzIWvDJd/BRan
Rn+mCJ8NSzO0OPkdcWArU6GtrEJOpHFJ/1MUV0ewOLV7RIHL77ZbTe39+rrWaT2qN7VH9Q+m7maW4VwEjlp7v5Igl+BCRN16rV1/614leRpu/9mrcG2W
2/vU7TnGaL63M09KlCVY3MROuvKspPxLGoqbk47JAiT9I3fS6DOKPqaOa/jxVFnEpDvWa8825WW1LDN3vm+4I1M/0nBHRXxYwJpsYxUo9fQRNxYGlTon
BCPrAI/tnt4dm/rcJJz3fKSHjj0eqYFW5D7kdBGvyMUGJITPsL9PHVWiM/MrcwI1t3dAh7pIx1mQ4DZCyRehIBOOZAA0KthaFzjqBJvcZQzLWFdGQC/E
psmoEpPcg5zBzbkIfi7PMfgSldyBrGkMDUzuScSMtI0IqkAkXw3n4JRxsEtRdsvHCqXoKN9PwOLU5jCJHrAPGWrBAjkPOdvSmMVBPsurWdvCmNZFKNiW
JqIn4sBtWyJIdA/Sh/RI6suVuazBFDZiK99OQDkEj9Q8X4C0MzapMAdRcfD3mC7CzCLEZLKCpzaMDDBulkXW/9gy/LwT9q38JAHFAN/FaT8elkoGw1JX
oNg90vy7KU4U6B5Jv5u8BksTSyB5l98MViYVgnuvQNGlVt/V6GOZA5NXAUF1BlH+LQF5ybuRs1yBYkA3yYyQAIit48B2PXlE5gVM8aKOZ+wbPWZihJII
gJgIBorBVNwAmG3gOwAOw0DGRTMWfXWh6h5FJlcLjvxU+lDw4UytidOEvFHzyxjwpo5h932LmkSMModKe3oWMt2x43pCLfKC8quQ5YL8nDS8CIURdbRJ
MnNezY+ogx6e8r8JgIkQPucIdyFr62PvYE3cmEZpiFaNIWydUQUq2YCCawws3Rs7VITkr0VmkiAN2xJ164w6aUfuQuqjJ96ce9Kg7d46ozLs9Sy/lFd+
kIYsnxa5y3SLLnKIFyJVFXbxkCGpHHdu/mhUjvFFKHisE23smIJp8wjYc0xW2TMNanmTc12eAxp9cg3KolJ4LyLwyYGCO1qwwCjLdrLH769zuJjPR+ld
bFgLoatTzTEDvmeP5O0BL7C5OHTfoe6BhpPHjNKCWhJA7jI3Ql4pt1CvxnLFXH904mQWY53M0ot1Mn+RhMo038WeAjagoJsD2zG8g6HQ+TeibLHsqCaR
1Uk78jXGSuIYkcI+rs/rQ54dVL9ViBzpMDkCJMyESOhTIBv0kV+FCnPyXU8fjkQurvDiF324yCXcCaKyY6PuIbNEn4I6EvUBYga64wDlD7OQE+5HZObM
O5AbjZ2R7UrjOifEs8sRVdmC3IcsGjQqCLwS3xYNHFUFfoB86ZiMyUyII85BduTQfeOpPBbxEvlKYJNzsVQSc4jY4qiNyUdvzGuw5NkmdXSrNznFFdCq
VPwKaXaCV0HAfXV5FXRW5ipx2RPZR8zyGwOL9jVMii2JCAOCOvSpx8zvZKa8A375veCDeeZqM4KBFpA01+JJ4/PRDAex84NlszUL8ixyY4UwQZrPwaKf
gyKwgvfkjb7AexMyXL8tHRcbQ5Wncmz0PHx7qo10xxO35wsTMGYp34AJMTgev0cv+1CGpvztJG+Hq9Z5L16k1UkGrM45yBquO/bj7aLExudfWvjkW+bQ
NgfitdW4b1CrJy/k/DJjSPntd8JZflHCRTfKOmT5GQGTlenQdo60YVc6Shyw02WVhqXtm8bgwBM+Ut6wHmB51YOC7zmzA/Z7te29uqbubU8nRl6E84G6
97da23WtubezXlcrCfIyLAUqW8261npQSZLz8FIAXGt+oHXq3+hUUqsmwMT0s675kf2hWmt2psZV4HKwcmO7UWc/an2z3uw0atttfvgP4qj1B2q9vcXj
AJXk6m/C2SjbTG7AVdFdba+zxbrbqHUarebUDK7AxWi09Vq7sVFJkMuwHIPQ2vygklz9SQLIrKki1+BKu/GwWevsqXWttv2wpTY6WztTg1+FS1FIWzu1
Da29VbtTScT1I1HW3nyrkjwO6c07a5XUqgNLM+aQbcCkZb250dpsNB/ORmYicLbq3+CbE1EnIzOrf5SAxSkjRlbglU5jp97u1HZ2tQctdac2zRWvQHUG
o13faDU3GT9chUsztTuN7e2GRElGdqA+2Lh79+4XK6nVbyf8rFNh8xgXNJrrrb3mpra7p+622tMCcgFenkZoqZsoHstwbrqqtsE4hKcPT9ftNL5R36yk
Vn+RgHLIejJOk8jtja36zpw5iPr61/e4jMxWrddral2tJCN6DfJOilTh7HRT5Pw0o2JMyzuVzJx+GbtlyTkgU/Xvvt+p5FZ/iAn1YbPE9lQiTzYuvPpL
cGEWZcIVClyerZ5ii8guJnzxESxOuRKMV2WLGOEIkG9KNC7C+ZmaFxGy/L901N3sAdVN7+B5r4K+CpUN29o3BmPnuXI7lEewFOhAPGB4C+OWXZMO+eOW
mPw/jqL6uMrbkBNA3z4nAvY59sZQOQtk44D2DreQGDLwOoYsB5B74SvKqPgkxzzhDWXI+KbCxldZgNKmoxvyTkpZhLIoc/Ks/joUA6Mxcduq17Y7W5FP
F6pwNlTbrqvvNZoPueyHajbrD9Xapny9EK5Sa40mvl44DQP+00rUq+khtcafzBuFAwDMudg4GFuHz3a194ZMsU3Gvj8MZNcqD6H8wLCY5IvB3oL8vgDM
4WDRRvVxlSbkBDAuu44EYp6FSVRTMloqzNh/kYLCDrXGz0GCW/JVfnzqAwa25Hv9dwB6ukeZH0PlBVtkQjNHOlID6BN6p09Cb7IBZXHXiaFp+R48MpER
8filg7gKxQIG9sN5kBdim/spkOR1mQ3NbyrORT5MfSqzoO9Osq7zsUPwTGA/4Vr5JpRVavWpQ/t8296GfF/8NcCcBxjy3wNUH9l/GJCcPAxQfp6GDO5b
HINF3lknY+/dMYiZCgQxo1Juq5OUYH6ykUWMt9mWp/c8LZjkUhJAnqnx3Mm3MsfjMRWvsUWJnafwDGpYA41aetek/ECeVxclvM7Bob+QKIb/QoKdcIeG
JbJEeICHH9HLQ8PCHBE8Rkm8kdE7HIscwzJevTO8XYRiouEqLDG8Seolw1xATNbBpsy+ZLh3IecZQ9Qwi7G81UEMVWKSr0HJm7zrcauV2BcEmAvd1IdU
DbXA6JcxpN9ie7Ukol+irDQgywckFUj1dT8G2NeP8E8MTNubp1Hbpu2pHEv5GqRZkVwCcD3d8TgpEiLLlkGQCBfwiM4rhY2l3D9Ufg0K/hpEjvhgzFRk
ws8Rx7LPxMn4SHxqJhKv/DQJeanK5ujqZ+8Zl2w7nsipTfMUDQbh6cTnIWcMB9rkfxCyxnCw55hEgfJId6jlyXwULkpFDuQJKdP7n3vm/Q+wXf6kbKd8
JwPpeenv0Zdox5PKTydPB9PJr0JpqDtM0nilSPDnsF1EOQfZJxS9LxE45CUeaHQeU1ekxogSc9j2bbvPc6Hz4lW7bfcxDzq8YYXpDVvBN372cMiUulQz
QRAqQVQpHtO4vUPUMym1JIBtBiOvwdL+2Nw3THPIEId2n/I/gSiolUDFDoMHmaQcYhICaU8f8H98KKj4PcMUi8/MFO9C5ZAecQ0oTXIl9sL3ET1CtciN
8sJhsOiSm1ARjsGRn8m0hLNdkHCRy3Qbzga9AB+bIPZSwNjzBsoBlENjx1x012Bhspq+7ulCZ12csxa1JJexqXu6sgZ5WXPS+xDlP5JQDHgrL1pWbsAC
sy0uNWnP85PMuAlq+0BE058G0TICTX8aQFuDl4dj0zPEtb/rW1H+0O0lrOSrcaUlDctJblpObsCCzEgxLNOwuKDl1bKANhA4w62FZ+VW5ecpyM5/wvJi
9dFE2XBSSmUTUirZuUold4xSyc8qlYAKKIRUwDQB4YWIe/E5xf0GLNojTxs4E/kt+XmLDx0husyDsqjr0b4msHmuS0Etc3ALkV1lAKmO/tR/7JMI/B1A
9Kb6spgK3sxNp1ump9Mtlb9OQJZ77qce7BqU9dHINHr4Ts/PRy5NgC0rWv1nYtT/9PSzM9P/XgLKe5ZpuN5nn/p6qqzTdNQfHzjGKf74YP57A+UXCSCq
8cvxmOcSAC41mMJXQAh6va8D4dV4tJKPQbg7VMEaPF+JhyDh1ODsdML03yXgLK6baYVP7UFF8OiXmnf0S08f/c5DzqXUmiR/Z1nxdDnOP16KCqGKqcey
2zEvYpZPlKa/fJJ00+VjArzLc+Nvp3ppszxfDNf+IQnZXawhTcjLHFeiREYyQgmwy5djcbjVfQ8KfgyZRN1mT4eol6/PRxJh6BYUA1FhciMydjMdNV6+
EBscJu9CBiO5JOqKOxjzXV6JR+CTW/vHJKR3qDUmXwfAWWCok1yKiZzxuGRkv6HI5c3EFxJkG7I8AkWivAI/nhjZWyh0hb19GPgjJPEXPyQ65yD8b0nL
V+P/O0i+HXoEsGvqFrdkJGo+ISO3PC9wtva9JJRqAcEjLSiw3nm47EZcADT0gmTuCKTJO+RbdT1mq56hvw9g0adazXKfUOdFUXbtL5mT7OD/i+xCwf+v
n8j+p/8JKFJig/8nsweLjA6Bh8GR5J19ODyfHLucG7hhjuxx9hXu/B5bUPI3rNVqR6qrqQet8zv8Jiz5u+H3eqI9mze03LSfJSCLNto9AS1mnZj5U+9w
WkjzTz4f1+eUgzBf6H6QhFxNpPMLaebFSGl+Btn4MEBpX6WfiNLxA0u10w30PUnpntf31IPL48c4hZvy/wEAAP//+EFh2g==
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
