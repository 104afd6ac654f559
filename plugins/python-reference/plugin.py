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
eNrcfVtsJNl12FS/+3Q32bzLmenhvDg1O6sRd3dmh7OP0e5GUpNsDnuHZFO3m7valaJKsfuSrGV1VW89ZoZKkASQgAjKTxAFEpCfJIiwQCQEiIAECRD5
T7A/bAP+MiADlm192ICtHxuQDf8Yxn1VV3VXNV+zu4K/2Pfccx917nndc8+9hB+m4IpLnMfEObw7MP09w7r7+N7drm6adwaO7dloRtTe4bV3Ht9T/48C
mWXdNNEcFHZ817CI69aUeeV2GgdlWjcwdW/Xdvq11Lxyu4iDMpqFrOvZDqmlWQUv0BYu8TzD2nNrmXnldhkHZfQ5mDZ6pD+wPWJ1D7UDcljLsrZTIfAj
ckg76fqOQ4u1HB9WlpfufXB3z/D2/Z07Xbt/V3zXy/v+zt0oBdy77NPfGuzs5Niv+/A7l+PINDB1K5FMcxPpqn5fgcIK6RquYVvoZcjQvhgRS4sX74x1
dmfL1K21c5ihoVnIuAfGgNOVQmkJvQkFk+x6mu17tfR8+nZp8XpcR/6Oabj7DcexHZynDVq+t1SEvO17XbtP1P+bgQwdjZKSWL2BbVgem1gRB2V0AXJ9
4u3bPbG2ooQQZAa6ty8Wlv1GDyD7kU+cw1qGTUpN+Lo7X6FIDctzDjFvgL4I+X2i94jj1rKs7fNJbdc4Gm8tG9HZ7Ng9zghlzH6jVZhySdchnia7zifS
qs0Qed+44oZKLnoAedfvdinrF9iqXYvrgGNg3yRYoqN5KHUd0iOWZ+imWyvOp28XcRiEXqbyQQZuDdjU4vih7ZEB5lioCmnfMWslRnP6c+4BwJCatJ4K
DF9D+pMK4GPd9IlYPV54M/VAmXsTymFanqSt+rMcZOi8KN0tvU9EK/Y7wk2pRG5Kx3JTJsRN4mOzwccO+SuXyF90VpP5K5/IX6ztZP4qhPjrMhSpjGqs
ojiv3C4wxWct0UoEmV3DNNm6FjH7jV6BDFOSJTaDKzEzWLWd/qpBzB5mmJQ9BrrjubVyInts6Y6HORYddO+bxqBWYZNhv2OkYOpUUjDCy9PjvBySk+rJ
5ORFyHj6AanNJH5lRz8gmCGhO5Qme8StITZILZYme8TFHA3dhIpDfJdoLunaVs+tPTev3K7gMgO2OewzEqP/oECGflmsGN2A8oeubWlMcIgjWpcobIuD
0FWAvv5UM4m1JzRxBRf7+tN1BqCCaA88w7Z0kwlWAQdlKoh8fZl8FbAoqa9BMWDC2GnFfo36QwUylBOTFMKuYRIGFwpBlulXdm3LI5aneYcD6SeUBKxz
OGDE8chTT+oG+hvVIC9Q2PzLWBajUpmLSqVqQZbxBroFU13fcW0nIC+fcIVDJYHp7Dga1ztiDTiMMQwdj64BZ0m+BIW+/pQNo34A5bBMUapzKRTDiVJo
NYSR5SVKOY/0qTclKROU1f+kQCkkTcyp8nTPdwl10dK3szgoH4eXrgMrauQjn8o3Hw0oqMEglGS7hqWbWjBKho1SYdC2AKo/SEEBE3dgWy5h38Uq2Pdm
sSihpaE6TjGZvx0jxbKXI1RyOqSSEWSooZSsQn+j1yBPdMc0iCNci8sTxsISl/I5X1Nqa8pCmZxV2qtNSuuBQzxMPvKJ61HVR13FCf4g9b8xQ0JvQMER
E2XdH/EtATJdB71LJV+aXV5Sf6XAlHATW9wpRK9Rj4TyG53RVKyZEKh0yQnm2FQg+8R19T354bKI3oAcoS6oe1xXVaCjK1B0yC6hHj0RKzoEoEU4T54O
DIe4mr7rESdQ71kmg8+JyjqtE1pe/bEC5fBQlC7UenlyBUUJnYecQ3Y1Qzq9WYfsNpk+7No9KYrsd/jDM9EP/yLd5TwmDu0+y4gZ57CsGlbPsPbaAhMH
bRa+p0A5TGp0FS61tjvLrY2G1u7UOw1te7O91VhurjYbK9Vz6AKgaPVKa7NRVVANZqPw1XpzvbFSTaFLcD5as9XYXGluPqym0UV4LlqFGx38fjWz0Ifp
kSmjebiy2mQNtXbj3QZudt4fmdocXBjDaGDcwlUFXYHaWN17dbxJ55E6y07u9zJwfXxjJjY/J9rMDXd/6v9PwTQmA9vxSE+KTIRRlXFGzRwYFuekqVif
SPTzyLB6mOGieSiznbImuFBoYwbDjBUXYEZusjWOavQEA07LijaFN3tDkc6eVqRzSSKdP5FIL/wbKIU+li69ZLJHzc2VEaY5DzOR2o3G5nZVCUsBA7c7
LdzQ6sudZmuzmhrrs9lpbMja9FnY6a/vwtUYdnJ6xDllZGDuKPY8ghf/FVQ7jm651B04lT15C/IObyfMyY0Y/Ka1Y/tWTwyAZQv1j1MwFa2j+pGxunD+
GCsvyT0bN/QvHTlCzO5tbegucBty5+heJjsNmZDTcB1KDukS4zHpaTr3J9MYJKjufUabg/+ShZJcXsO20H3IMmYTSxtn+TfJkxZFWTuHOS6ag7yxZ9kO
6QUhJAlADSh3datLTD4AUzLxsrwcQls7hyPN0JegQJlpR+8eMLLGc1GdORzLAnHtHA4aoVcgu0u87j7TMvEbulVaT7+KIdLdvJCTWp61UWPdoIiWpl8u
GqHloXqlOJPCOlzjUqy1c7jkDou0kz6xfE1KUDGxkw1i+YItaSf9YRG9TfcxvkOd0xJrPx9Hfo4RTEM24fJrEt0ltXLi4jGOwByNNhYtqFVwyMDkvkl8
00CkBuYh5thLRWoVdMuw9tQ/oTuQEEVGrZZyPKuVirda96XVSjOrdTVpdSI26wJ13HTXtoQtFCUqZr7lGaaQbl6gkm93WdCYSX6OS74E1T31a1AKLd6z
/UD1X0CW8TXV2ceICYuIcHgEJuMxI7Alb/bUnypwMbAQbCzS+9QNRWTXkj7BrkWtwlRUbai/VKAcZsqRDWYl2GCujm4wXzqCvU+wyVShIgmv9XXnQLBa
yeZU39CdgzMpfgzlsMKNX3EldsVD/J8K87/6WwpUImrkpL0KKsvwBKeyDPako/Ghwb5tyd0QL9C9kGl3uZ3JJqpsMcN1gYmDNurXYHqkEs1BgRLI83vS
6Q7K1CM3bWuPV/I5DwFoClK6xyadxindU9+EclhJnoQ06i/zUJBm90Q0HdUlqePpknS8srwKwAdkQTSxWWYQFkK7CZUeMQ1Kbo7Bg+plCWRIKlQMV9vx
zQM+eRE9Kxnukm8e8C98Awpd3/XsPnGE6Y2T5WWBggNktAhZwyN9t1ZIDH5zynikjzkqegD57r7u7BF+dBJvXFmret/2LQ9LdPQqZD39KZHHKke148jo
bSj2DLdLQa4I0h/VctgAvQr5gX7YJ5YnovVzsZFphoElKhWtru0PbIsF7YtYlJAKZcNyPcdnCtCtTfEFC8PQizATrGpP94hn9EltmrF1VVasCDi6BVOc
Q1x/x7M93WRB+iLmuqwtgJRT2A9NUn6GD8yAy4K816HEkTiREWddBuowSs5BQRKGhduLOCgzo8tZlc1iljfmvMqmcAumBvqhvmMSTWdUrp3nMxVQTnrK
8j3DHZj6IZWLC5zlBaTZo8MMHDLQHaLt2k7tIrftArRqO+gq5Lu+Z9KtSY0yOnOsOOA7irIEUNBEUf23ChQkTycFxbnSS4WV3ixkSV83THn4zQqUT/Re
zyGuK9zlOD6pcwwsUdU/VCAvgOg85EzDIto9MYcsLd0LwItyFrS0yPWk1WOWKi31JC+zgJbhHcp4Kf2NbkDZ9Xc0qnpNGboq4pLr76wLELVmA8MSUQH6
M6KM85OUcWFEGat/pkAxkPxQ4E0JB97moPCRr/NIXYqnH8gyo71jdIMUA1agUM/wzMAMscKYVGVjpOoB5PkpiSuOGRN1QIuhYYmOLkKeLYDREzRg69Hs
qf9TgVKoxSf9laF5ZMPzQJchR7nf4q5udu0cFmXK8EXIa7yk6mK6QtKCUZTwKLEODOUoZ3hawX4HYdPMMGyqvg/5raEK5BSUQVheYkFrLv/C6+AldA1K
rvPY0Tzn6dAiFimo4zxt9tT/l4Ist1aXoBAxw2mcF07aSdzoZxyNi5rq7JGmOnccU50fN9WnsLjqH6UA1bsHlv3EJL290wWV7sg4RSpxO8+9rSBEUdC7
XTLwCKdsAQflxO3cZShSTa4xi8e3dAUK6FBLx+I5FE1jXMfpBxy0bPcIXYHuvm7t8V1fnjUvCkjdQ3dg1vY9zd6lS9k9EKvO6VjEVdv3WrttWsPW3kUv
wLRhPdZNoxeg8kyPigBzPPUXKUDsy/lZ2adC3KHnno547smnFlHiZEeJcwPKjPJ9w/I9djpGEZip3eCgUfrnx+j/SRH4bxWYptzstlrtT4W681CmchPM
Ks1mBRQmpv48THFtFuBkGE6ZQwXWVQDdNO0nGukZ8kC+yCCNnuFxgvJgVihMIUF1T/1R6MM/sXO8V+GC9Oa1vu4ekJ5m+f0d4gjWmpW1G6xyk9VJVyET
uAoLNsAwboMuw0UewI870ZqFariytdXYrCroAqAwdHm91WanWSPwrfo2hZ8p5v+dPFwbD8Hzw9PTBv0nHyIcEfL/dymo8JjIp6U+4s6NeUpGfzBMyegP
0AtQfkJ0x7D2GHtwNl47h0sCStniO4oy9JVzYV/5GsBAd/Q+8XiOlnK7jEOQpWmoaOHu1W8rUAtO02WA6NM/BflxsCCfmOCxXBUheJxyaZmrwqFbjILD
tcpE1irW08nGezoxybe52OTbIHicP1Hw+Ayi+D+y8HyMKD7WDVPfMei25LT5uX+qAGIa6QyC9WyjOQgy9oBYImmL/T7KLl8B8HzH0mxraCIKFNKy6p76
kxTMUAPxG/OFV6Aolk5sXqjBk4Axu5o9hl3NxdvVSY5elGaFKM3Owqt/lYXL4yz34RMvOdP+P6eh/I5rW++RnY59QKxQSpgSSQlrQPmAHGrE6to9w9oT
aQVx0dRwd4/IIS4dkMOGaIbehlzX1I2+PFF9/ogOlikyFm1QK6Ktebb33SN6uLMVtOBB9lAX6PNQNY1dFqkaSeSZlnCRxBPKoctFcujCuXL5aK7c3D+D
6ZHRTxSRt2FmjBbHT44MLWU6spQ1yItrD9IJF8WFAUyPrB5S4do77dam9l5jSeu0HjU2tUeNmDSbGBxcf4+nTcTULdXbjddfPVuezV+8DDfHub1H3K5j
DCZ7SpOkRJ2B6RXWyY7ciKrfzUJpZdgxmoJUEERJGT1K0cfEcY3g/EMW2SUV2mvXNmWWpizTPY2MJLIVFec5ArZJF1aFclcfcENjEKmRIjC0BPDY7uo7
vqlPTFF/N0B66Nj+AIdaoQeQ10VsKp8YfBL+xu4ucbBEp6Zb3qHR3O4+6esiWX1KgtsMir4ARZmOL+PqcTH8hsDBQ2x0nzIsZV0ZWL+UmESOJSZ6FfIG
dwVETH1ugrMgUdE9yJlG32Cp70rCSOsMAQtE9KVohnqFDRZ3bLwcYI1dxhjYpikz5GMPYm3TxBxL/e8KZGg5VhPMQykkATLhNgRiYW7iGHYvUHicLysc
KtXdZSgOiMMNqsziHhCHGVLKubZlHmoDwjLyxNaxRGFbHKR+T4HpEY6jamqP/pABPVZAFyFvWxo1smy6BZyzLRaUvQxF29JEjE6EaGxLxDJfhcwBOZRG
YH4iv1MrxLDVbylQicBjifgKZBzfJMLGxUWw3qUKll0mYJhUAbB9M4slURGVRdq/bxlBFjn9rX6sQCkkTEkqnQc/U+Hg53Uo7RxqQd4LJwrsHMqNCHoR
ZobmTQokzzqqDiuESF6HkkusnquRxzKjvYCBgRoUov5CgYIUyFOy2yxk923Xk0EKXmC3OojjGbtGl9pNoflCIKpXQsXwfbwQmC7gWwAOxWDSKHJ54pYM
6x5hkouLjvyp9qAYwKmuFtsreawflGOkJhUnNbOQ3fEd1xMyxQvq1yDHtdMpaRiRxXRUFtW/VwCGmuWUI9yHnK373v6iyJSIU3utOkVYO4cFKlqGomvs
WbrnCxVRWrwZm2HBaNiWqGvn8LAdug/pD594E5KBwg7J2jlMsZdyPOFP/css5Pi00H2qW3RxkTA+bYd18ZAiYY478cpY3EXDy1D0aCea75iCaQsMsO2Y
tLJrGsTyhhvdAgc0e+gmVESlcMlEeJ0DBXe0YIpSlq6kyFnIs4/5XJwxYQ3rEXQ80pxdg+3aA3n8xQv8ZtKuQ9x9jU2epZAVcVkA+T6gGXG1udn9fCJX
THSyh55zKdFzLkc9ZzpH+i22Y3yTMGrzY+pyAKQUJzA7RArNltvRxeTZ1mWr0Wk/p4/XnNGLn1uFWtJ4J9oN/DoF1VFZStyuLUNRN/dsx/D2+8KO3Ypz
mmRHdYmMh+3Ql6l4iP0ez4Z7flIfcpOHg1aRJc6MLPGQLbIRtggokAtvZj4PVbobcz29PxBXCsV2azqAi9tOG2FUuvsXu+z47WpHoq4yzFB3HKD+bg7y
wk+MzTR+C/ID3xnYrnQYJsTxtjgili3QA8gxIy3TDeeT2zKjTbDAD5Evk3CnKxvhiAuQGzhk13gq96+8hL4YWuR8IpXEHGKWOG5hCvEL8yLMeLZJHN3q
DrfbRWYpq0GFNKXhQ1Tgmyp5iDorc7u5PhHZ2tSbMfYs0tPYtb2yCBQxUIc89ahLMZwp74BrlakAzO/WbcYw0BQjzc1k0gR8NMZB1F22bPrNgjzT3AAz
mCDNCzAdJPcJrHCeTLMn8F6DLNfZM0cFQJkaxxybeVOBj0BVpSeyZ6aGYHaP8hYMicHxeB5NJYAyNMq2+7pDeiyPJt7/bjMEucMS+CqGSqSCrnMQtVO4
7+yKaN0LMC2rJFG4VqwIDE4U9WfD9ExuvCY9LCDteipk1y9AznBdPzhTEiVKDf5LiwZMKhza5kB2lOz3DHYPRxh+WabiIX8HnXABnJZw0Y26BDm+tWSX
O0nfdg61/o50RTlgY4dWGpa2axp7+57wQguGtcrKCx4Ug70JmoML79bXtxsa3l4fPeO6DBdDde+ttdYb2ub2xlIDVxV0HmZCla3NhtZarabQRXguBK5v
vq91Gl/tVNMLJsDQuaJd80jPQ1zf7IyMq8K1cOXyerNB/+DGSmOz06yvt3nMKIyDG6u40V7j4aNqauFfw2yc94NuwQ3RXX27s0a7W653mq3NkRlch8vx
aEv1dnO5qqBrMJeA0Fp5v5pa+FgBNG440U243m4+3Kx3tnFDq68/bOFmZ21jZPAbcDUOaW2jvqy11+r3qkpSPxJl8bXXq6mjkF67t1hNLzgwM2ac6QIM
WzY2l1vsCtxYQC8GZ63xVb44MXUyoLfwHxWYHjGpaB6udJobjXanvrGlrbbwRn2UK65AbQyj3Vhuba5QfrgBV8dqN5rr602JkortAK8u379//wvV9MK3
lODOkLDAlAuam0ut7c0VbWsbb7XaowJyCc6PIrTwChOPObgwWhXcA4tpttH8amOlml74tQKViC2nnCaR28trjY0JcxD1ja9scxkZr1pq1HEDV1MxvYZ5
J41qMDvalHF+hlIxoeW9anZCv5TdcugCoJH6d97rVPMLP2AXkKNGkq6pRB4uXPTrr8KlcZQhV6hwbbx6hC1iuxjyxYcwPeLYUF6VLRKEI0S+EdG4DBfH
ap5FpPsfMnHpAPtEN739054+fgmqy7a1a+z5zqnyrdRHMBPqQFz4fp2Fu3dM0uePASRkI3MUHOCqb0BeAAP7rITsc+IhtToLaHmfdA/WGDFkvN6HHAeg
V6On4nFhbY55zEPxiPFNR42vOgXlFUc35EGnOg0VUebkWfiXUAqNRsVtrVFf76zFZqHUYDZS227gd5ubD7nsR2pWGg9xfUVerY5W4XqTXWk+Uz7K392M
e5yqTyz/tNkok9NN/ncagCUWLe/71sHJDoxflvmHqcRoejjZ/xXIMWdSHkjWEm/jCTz0FkBX9wg1+0TGn2NvI3CkQxxCR8tQEQfILPgtn52KzfVlePys
RpwvswI7D4mmCl9KbD7MEn5J3k3gBzwXYl+7eSrvJNwf3oEoJA7B8/KD6w/qQ6iIO/pi4V6Hwq4ATFAHog0OcNWPFcgLaFLSMgrF6IvDKLwU23TymwiZ
k7+JEHqwIRt+sEH9SRqKG8TyT8Gnd+QTdck5UZzvxON1UbZLn4ztAqHIHEso/klz6dehgonVIw7p8WV7Awo98U7ehEvO8ik9HCAHt/RSw1t66s8zkOWH
ZAmMe5K7qHEX3eLuTtSGdzs4f8oiizvblqd3PS2c/VYWQJ7CdepbFDL56zERD5GJEt31sriFYe1pxNJ3TMKDOAU8LeENDo68p1iKvqeIXoDpvmGJ9DEe
FORhnUrfsFjyGNvsSryB0T3wRXZ2haXVULwtBmUp2gswQ/GGie4Uc4ph0g5WZK47xb0Pec/oM9U1nchbHYaBJSb6MpS94d15t1ZNzIFnl1o29T7BkRYs
Ymr0yTfpWs2IiKkoq03I8QFRFdI9PYgb9/RD9qKfaXuTzF7btD3MsdQvQ4YW0VUA19Mdj5NCPCLCIIwIl1gghVcKT4hwL17951AMvkFc9tnzqeoNLkXy
csDEqeQTqfTYiZT6oxQUpCqbYANO3jP7ZNvxxA2GDM/OohB+f+Ei5I3+njZ8AjBn9Pe2HROpUOH3VGQqGhelEgfyXLTR9c+feP1DbFc4Ltup385CZtI9
pvjD5KNJFdz+yYRv/9yAcl93qKTxSnFTi8O2GMoFyD0hzEcWwWZe4sFp5zFxRVacKFG3ete2e/zmSUG81WbbPXbrJLpgxdEFm2fvaNj9PlXqUs2EQUwJ
MpXi8cx/pmfSuCyALOcfvQgzu765a5hmnyL27R7h7x8WcTVUsUHhYSapRJgEQcbT9/gRVBGz32NMMX1ipngHqgfkkGtAaZKriYkPj8ghU4vcKE8dhIsu
ug1V4RgcBkmMM2y2UxIu0hjvwmzYCwiwEcOeCRl7cRFiHyqRsRMSPuowNfyanu7pQmddnvAtuCw/Y0X3dHURCrLmuGdo6p+noBTyVp61rNyCKWpbXGKS
rhfkl3IT1A6ADE1/GkbLCjT9aQhtEc73fdMzRPqLG1hRfjn6OVbJv8aVljQqJ/lRObkFU8HFVcs0LC5oBVyRl1cZcIxbiyflVvXnachNvnH4bPXRUNlw
UkplE1EquYlKJX+EUimMK5WQCihGVMAoAeGZiHvplOJ+C6btgaftOUP5LQcpyw+dwfCuk0Vcj/Q0gc0T2Yq4wsEthuyqe5Du6E+Dq5VK6EW6+EUNZDEd
Ps0dzbTOjGZaqz9VIMc99zMPdhMq+mBgGl12tzu4qFAeAltWvPrPJqj/0ennxqb/XQUq25ZpuN5nn/V+lsjPr/Kxz5LbE15v/2QfH/v3KSixbMjTkBVB
hk49OPuzTfYiLX9XVZ798dLYEmSOtwTZ+J3cZSjS0cI36QocUPfQA8jLTMrk7FuRWNnR3QMs0dX/qkApVPGZPAl4FSB4EdOT/rR8BtNTv6XAbHBhKrxy
i2IxlMQHrELYYrFO+xKp+hiA9+b6pofehoKIDMm41HzC8KS3wRFx0CLEMakIxyDI9IcZeuy36kAl0k0QM1BCL/uMPkacGn+MOPY2VTr2NtWZbpBk4h4b
dIwzPDY4+d6h+msFEDZ+M24nXwVgnxpOxy8yCNvkvgSIV7NIiryFygW+ympYOEXcQI1eAsqNXAJSf1uBWfbdwatDn9Kl9yDSk54U6cmMRnouQt4lxBpe
AsvR4tnuK308G3euJaaeyG5H3IydO9Z1vbnjXB2ZO+LUbW7iociZbtzOTbS6c5OFdPH3U5DbYjVoEwryNgtSY8Oakasuc9cScbgL/i4Ug2M/dDP2Ma3o
qeLc85ORxMlhC0qhgzx0KzaQO3rQN3cp8TwPvQNZdviG4nKkwsd0c/PJCHxyi3+QgswGsXz0FQA2C3Y4ha4mhNH56Udsv5HzkdvKKwpahxwPR6MrCW84
JvcWiWOz3j4IvfUtnsJF8Ulr0QfB524kv6Urbxg/AtgydYu7tShuPhGPd25SFH3xuyko10NiiVpQpL3z2PmtpNOQyE3SiSOgTd4hX6rnE5bqBP29D9MB
1eqW+4Q4z4qyi3+TgRzT0y7agmLwdGJs/6NP78ZKbPgB12+EnusVjzGihUkdR19sPLL/bZimdA693xK7fOPvu0wm9zdCbmO472fFzVucm7nbETvj8UdT
Js+4BeWA4Vqtdqy6HXknZHKHX4eZ4MuCXo/1/ZOGlkz3vxTIMQ/EPQYtxl20yVPvcFoEryZ+LqnPEfdnstL4fgrydXHxUGgjXozVRieQ7Q9ClA5M0rEo
nTywZLSdUN/De1qT+h55VuLoMRb/mwJZus9w0bL431pH7Kcmk6MNxWAysUsXt6Gbu5o4JN10ncFR/McAAAD//9Hl0ng=
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
    capabilities=["action_plan", "menu_check", "menu_check_context", "order_translate", "rider_status"],
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


def check_items(call, items, categories):
    """Returns a finding for each item whose title is too long, and for each category whose name is."""
    problems = settings_problems(call.settings)
    if problems:
        raise Refusal(f"settings of platform {call.platform}: {problems[0][0]} {problems[0][1]}")
    longest = json.loads(call.settings or b"{}").get("longest_title", 60)
    return [
        PB["Finding"](ref_id=item.ref_id, rule="title_length",
                      message=f"the title has {len(item.title)} characters; {longest} are the limit")
        for item in items if len(item.title) > longest
    ] + [
        PB["Finding"](entity="category", ref_id=category.ref_id, rule="name_length",
                      message=f"the name has {len(category.name)} characters; {longest} are the limit")
        for category in categories if len(category.name) > longest
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
    """Receives the chunks of a menu and checks its items, with their categories."""
    try:
        with IN_FLIGHT:
            call, items, categories, size = None, [], [], 0
            for chunk in chunks:
                call = chunk.call if call is None else call
                size += chunk.ByteSize()
                if size > MAX_MENU:
                    context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "the menu is too large")
                items.extend(chunk.items)
                categories.extend(chunk.categories)
            findings = check_items(call, items, categories)
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
