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
eNrcfVtsJNnZ0FTf++tuu33WM9Njz8VTs7OZeHdndjx7mewuSdp2e9w7tts53d7NbkKKcvexXevqqt66zIwDAqREIgoviKBE4omIaCWCkIgEAonwFsFD
QOIJKZEIECGQIOIBKSBefv06t+qq7qr2bXY3+p/c5zvfudR3vtv5zneO4WcpuOoS5wlxju4NTH/fsO49uX+vq5vm3YFjezaaEbV3ee3dJ/fVf65AZkU3
TTQHhV3fNSziujVlQbmTxkGZ1g1M3duznX4ttaDcKeKgjGYh63q2Q2ppVsELtIVLPM+w9t1aZkG5U8ZBGX0Jpo0e6Q9sj1jdI+2QHNWyrO1UCPyYHNFO
ur7j0GItx4eV5eX7H93bN7wDf/du1+7fE9/16oG/ey9KAfce+/R3Bru7OfbrAfzb+TgyDUzdSiTT3ES6qj9WoLBKuoZr2BZ6FTK0L0bE0tLlu2Od3d02
dWv9AmZoaBYy7qEx4HSlUFpCb0PBJHueZvteLb2QvlNauhHXkb9rGu5Bw3FsB+dpg5bvLRchb/te1+4T9V9kIENHo6QkVm9gG5bHJlbEQRldglyfeAd2
T6ytKCEEmYHuHYiFZb/RQ8h+4hPnqJZhk1ITvu7uNyhSw/KcI8wboK9C/oDoPeK4tSxr+2JS23WOxlvLRnQ2u3aPM0IZs99oDaZc0nWIp8mu84m0ajNE
3jeuuKGSix5C3vW7Xcr6BbZq1+M64BjYNwmW6GgBSl2H9IjlGbrp1ooL6TtFHAahV6l8kIFbAza1OH5oe2SAORaqQtp3zFqJ0Zz+nHsIMKQmracCw9eQ
/qQC+EQ3fSJWjxfeTj1U5t6GcpiWp2mr/ioHGTovSndL7xPRiv2OcFMqkZvSsdyUCXGT+Nhs8LFD/sol8hed1WT+yifyF2s7mb8KIf6ahyKVUY1VFBeU
OwWm+KxlWokgs2eYJlvXIma/0WuQYUqyxGZwNWYGa7bTXzOI2cMMk7LHQHc8t1ZOZI9t3fEwx6KD7n/XGNQqbDLsd4wUTJ1JCkZ4eXqcl0NyUj2dnLwM
GU8/JLWZxK/s6IcEMyR0l9Jkn7g1xAapxdJkn7iYo6FbUHGI7xLNJV3b6rm1FxaUOxVcZsA2h31BYvR3FMjQL4sVo5tQ/ti1LY0JDnFE6xKFbXMQugbQ
159pJrH2hSau4GJff7bBAFQQ7YFn2JZuMsEq4KBMBZGvL5OvAhYl9Q0oBkwYO63Yr1F/pkCGcmKSQtgzTMLgQiHIMv3Krm15xPI072gg/YSSgHWOBow4
HnnmSd1Af6Ma5AUKm38Zy2JUKnNRqVQtyDLeQLdhqus7ru0E5OUTrnCoJDCdHUfjekesAYcxhqHj0TXgLMmXoNDXn7Fh1I+gHJYpSnUuhWI4UQqthjCy
vEQp55E+9aYkZYKy+vcUKIWkiTlVnu75LqEuWvpOFgflk/DSDWBFjXziU/nmowEFNRiEkmzPsHRTC0bJsFEqDNoWQPUnKShg4g5syyXsu1gF+94sFiW0
PFTHKSbzd2KkWPZyjEpOh1Qyggw1lJJV6G/0BuSJ7pgGcYRrMT9hLCxxKZ/zNaW2piyUyXmlvdqktB44xMPkE5+4HlV91FWc4A9S/xszJPQWFBwxUdb9
Md8SINN10LtU8qXZ5SX1DwpMCTexxZ1C9Ab1SCi/0RlNxZoJgUqXnGCOTQWyT1xX35cfLovoLcgR6oK6J3VVBTq6CkWH7BHq0ROxokMAWoKL5NnAcIir
6XsecQL1nmUy+IKorNM6oeXVf6xAOTwUpQu1Xp5cQVFCFyHnkD3NkE5v1iF7TaYPu3ZPiiL7Hf7wTPTDv0p3OU+IQ7vPMmLGOSxrhtUzrP22wMRBm8Uf
KVAOkxpdgyutnc5Ka7OhtTv1TkPb2WpvN1aaa83GavUCugQoWr3a2mpUFVSD2Sh8rd7caKxWU+gKXIzWbDe2Vptbj6ppdBleiFbhRgd/WM0s9mF6ZMpo
Aa6uNVlDrd14v4GbnQ9HpjYHl8YwGhi3cFVBV6E2VvdBHW/ReaTOs5P7dxm4Mb4xE5ufU23mhrs/9V+lYBqTge14pCdFJsKoyjijZg4Ni3PSVKxPJPp5
bFg9zHDRApTZTlkTXCi0MYNhxoqLMCM32RpHNXqCAadlRZvCm72hSGfPKtK5JJHOn0qkF/8GlEIfS5deMtnj5tbqCNNchJlI7WZja6eqhKWAgdudFm5o
9ZVOs7VVTY312ew0NmVt+jzs9Nv7cC2GnZwecc4YGZg7jj2P4cW/BtWOo1sudQfOZE/egbzD2wlzcjMGv2nt2r7VEwNg2UL9TymYitZR/chYXTh/jJWX
5Z6NG/pXjh0hZve2PnQXuA25e3wvk52GTMhpuAElh3SJ8YT0NJ37k2kMElT3vqDNwX/LQkkur2Fb6AFkGbOJpY2z/FvkaYuirF/AHBfNQd7Yt2yH9IIQ
kgSgBpS7utUlJh+AKZl4WV4Joa1fwJFm6GtQoMy0q3cPGVnjuajOHI4Vgbh+AQeN0GuQ3SNe94BpmfgN3Rqtp1/FEOluXshJLc/aqLFuUERL0y8XjdDK
UL1SnElhHa5xKdb6BVxyh0XaSZ9YviYlqJjYySaxfMGWtJP+sEg7YQul+YMe1dCQ2Alb2B2GRTuxh0X0Lt0M+Q71cEus/ULcGnKM4FtkE64ETKK7pFZO
5AA2OuZotLFoQU2LQwYmd3DimwZyOTCPMMdeLlLToluGta/+Z7qNCZF11PQpJzN9qXjT90CavjQzfdeSljhi+C5R7093bUsYVFGisupbnmEKFcELVH3Y
XRZ5Zuojx9WHBNU99VtQCnHA8/1A9a9AlgkHVfwnCCyLsHJ4BM5/4yOwJW/21F8qcDkwM2ws0vvcrU1k65M+xdZHrcJUVPeov1egHGbKkV1qJdilro3u
Ul85hr1PsVNVoSIJr/V151CwGpfrZm9Tdw7PZT0wlMNaO37FldgVD/F/Ksz/6r9WoBJRI6ftVVBZxjg4lWXEKB0NMg0ObEtuqXiBbqhMu8uNVTZR74sZ
bghMHLRRvwXTI5VoDgqUQJ7fk557UKZuvWlb+7ySz3kIQFOQ0j026TRO6Z76UwVKIR19KtLMQ7F7oFv7IUEvcEBkNdIRbXRf+gOZY/0B4Q2ob0M5rMhP
M0f193koyP5O9XGj+i51Mn2Xjlfo1wD4gCxaKKICDMJihbeg0iOmQenAMfjpQVkCGZIKFcPVdn3zkE9ehAlLhrvsm4f8C9+CQtd3PbtPHOFjxBF4RaDg
ABktQdbwSN+tFRKj/JwyHuljjooeQr57oDv7hJ8RTXAA6n3btzws0dHrkPX0Z0SeHx3XjiOjd6HYM9wuBbniNOK4lsMG6HXID/SjPrE8cSwxFxuCZxhY
olI27tr+wLbY6UQRixJSoWxYruf4TEm7tSm+YGEYehlmglWlwuUZfVKbZqJXlRWrAo5uwxTnENff9WxPN9lpRBFzfdsWQMop7IcmKT/DB2bAFUHeG1Di
SJzIiLMuA3UYJeegIAnDzhWKOCgzx4CzKpvFLG/MeZVN4TZMDfQjfdckms6oXLvIZyqgnPSU5XuGOzD1IyoXlzjLC0izR4cZOGSgO0Tbs53aZe5/CNCa
7aBrkO/6nkn3YDXK6Mz544AfKMoyQEETRfVvKlCQPJ0U/eeKORVWzLOQJX3dMOUpPytQPtF7PYe4rlBRcXxS5xhYoqr/UYG8AKKLkDMNi2j3xRyytHQ/
AC/JWdDSEtflVo9Z07TU5bzMIneGdyQDw/Q3ugll19/VqHkwZYyuiEuuv7shQNTiDgxLhD/oz4jByE8yGIURg6H+VwWKgeSHIoxKOMI4B4VPfJ2HJFM8
z0KWGe0doxvkUrAChXqGZwamkhXGpCobI1UPIc+Pg1xxnpqoA1oMDUt0dBnybAGMnqABW49mT/0n0gjyFp/1V4bmkQ3PA81DjnK/xd3x7PoFLMqU4YuQ
13hJ1cV0haQFoyjhUWKdLMpRzvBYhv0O4sOZYXxY/RDy20MVyCkoo828xKLzXP6FZ8RL6DqUXOeJo3nOs6FFLFJQx3nW7Kn/MgVZbq2uQCFihtM4LxzJ
07j6zznsGDXV2WNNde4kpjo/bqrPYHHV36YA1buHlv3UJL39s0XP7koHLJUYtwh7X5Tr9W6XDDzCKVvAQTlxyzkPRarJNWbx+LazQAEdaulY4IqiaYzr
OP2Ag1bsHqErwN1ItjPNs+bC0+zVPXQXZm3f0+w9upTdQ7HqnI5FXLV9r7XXpjVs7V30Ekwb1hPdNHoBKk9pqQgwx1N/lwLEvpwfCn4uxB3uLtKR3UXy
8UyUONlR4tyEMqN837B8jx0DUgRmajc5aJT++TH6f1YE/r8KTFNudlut9udC3QUoU7kJZpVmswIKE1N/Eaa4NgtwMgynzKEC6xqAbpr2U430DJl5UGSQ
Rs/wOEF51C4USpGguqf+PPThn9mB5etwSXrzWl93D0lPs/z+LnEEa83K2k1WucXqpKuQCVyFRRtgGFtC83CZn1TEHd3NQjVc2dpubFUVdAlQGLqy0Wqz
Y7sR+HZ9h8LPdbjx6zxcHz9r4KfEZz3dmHxacszZxt9KQYXHbT4v9RF3QM5zT/qDYe5Jf4BegvJTojuGtc/Yg7Px+gVcElDKFj9QlKGvnAv7ytcBBrqj
94nHk9GUO2UcgixPQ0ULd69+X4FakDYgg1if/3HP/w4W5DMTPJaUIwSPUy4tk3I4dJtRcLhWmchaxXo62XhPJybLOBebZRwEuPOnCXCj+khcv3CSuH4k
qn8eaf5HWXgxRpqf6Iap7xp0Z3PWXOb/ogBiSu0csvl8A0IIMvaAWCLBjf0+zrRfBfB8x9Jsa2hlChTSsuqe+osUzFAb8yfzhVehKJZO7H+ozZSAMdOc
PYFpzsWb5km+YpRmhSjNzsOr/ysL8+Ms9/FTL/lWwt9PQ/k917Y+ILsd+5BYofQ5JZI+14DyITnSiNW1e4a1L1Iw4oLG4e4ekyNcOiRHDdEMvQu5rqkb
fXn6/OIxHaxQZCzaoFZE4fPM+HvH9HB3O2jBzxJCXaAvQ9U09liwayTpaVrCRcJTKN8wF8k3DOcV5qN5hXN/CaZHRj/VwYMNM2O0OHkiaWgp05GlrEFe
XBGRfrwoLg5gemT1kArX32u3trQPGstap/W4saU9bsSkJMXg4PoHPMUkpm653m68+fr5cpL+x6twa5zbe8TtOsZgsrM1SUrUGZheZZ3syr2s+sMslFaH
HaMpSAVxmJTRoxR9QhzXCI55ZJFd6KG9dm1TZrTKMt0WyWAkW1FxbCVgW3RhVSh39QE3NAaRGikCQ8sAT+yuvuub+sR0/vcDpEeO7Q9wqBV6CHldhLfy
ifEr4bLs7REHS3Rq/eV9I83tHpC+LhL7pyS4zaDoK1CUVxdkaD7uGKAhcPAQGz2gDEtZV8bmryQm3GOJiV6HvMG9CRGWn5vgb0hUdB9yptE32DUBJWGk
DYaABSL6WjSbv8IGizsdXwmwxi6uDGzTlLcJYs+bbdPEHEv9hwpkaDlWEyxAKSQBMjk5BGKRcuIYdi9QeJwvKxwq1d08FAfE4QZVZrwPiMMMKeVc2zKP
tAFh2Yti91misG0OUn+kwPQIx1E1tU9/yJggK6DLkLctjRpZNt0CztkWi+vOQ9G2NBHmE1Ee2xLh0Nchc0iOpBFYmMjv1AoxbPV7ClQi8FgivgYZxzeJ
sHFxQbD3qYJlFy8YJlUAbOvNwlFURGWR9u9bRpBxT3+rnypQCglTkkrn8dNUOH56A0q7R1qQI8SJArtHci+DXoaZoXmTAskztKrDCiGSN6DkEqvnauSJ
zP4vYGCgBoWov1OgIAXyjOw2C9kD2/VknIMX2A0Y4njGntGldlNovhCI6pVQMXx3MQSmC/gOgEMxmDSKvKe4JcO6R5jk4qIjf6o9KAZwqqvFDk1mLwTl
GKlJxUnNLGR3fcf1hEzxgvotyHHtdEYaRmQxHZVF9f8rAEPNcsYRHkDO1n3vYEkkhMSpvVadIqxfwAIVrUDRNfYt3fOFiigt3YpNJGE0bEvU9Qt42A49
gPTHT70JOU9hh2T9AqbYyzmeHKn+zyzk+LTQA6pbdHHpMj47iXXxiCJhjjvxel3cpcx5KHq0E813TMG0BQbYcUyWeWAaxPKGe+UCBzR76BZURKVwyUSE
ngMFd7RgilKWrqRIzcizj/lSnDFhDesRdDzSnF0Z7toDeYLGC/wW155D3AONTZ6l2xVxWQD5PqAZcbW52f1yIldMdLKHnnMp0XMuRz1nOkf6LbZjfJcw
avOT7nIApBQnMDtECs2W29Gl5NnWZavRab+gj9ec04ufW4Na0nin2g38MQXVUVlK3K6tQFE3923H8A76wo7djnOaZEd1iYyH7dDXqXiI/R5P+ntxUh9y
k4eDVpElzows8ZAtshG2CCiQC29mvgxVuhtzPb0/ENcvxXZrOoCLm2GbYVS6+xe77PjtakeirjHMUHccoP46B3nhJ8ZmZb8D+YHvDGxXOgwTQoHbHBHL
Fugh5JiRllmVC8ltmdEmWOCHyJdJuP+WjXDEJcgNHLJnPJP7V15CXw0tcj6RSmIOMUsctzCF+IV5GWY82ySObnWH2+0is5TVoEKa0vA5LPBNlTyHnZV5
8FyfiMx26s0Y+xbpaeyKY1kEihioQ5551KUYzpR3wLXKVADm9xC3YhhoipHmVjJpAj4a4yDqLls2/WZBnmlugBlMkOYlmA5yGAVWONWm2RN4b0CW6+yZ
42KoTI1jjs28qcBHoKrSEwk4U0Mwu3N6G4bE4Hg8FacSQBkaZdsD3SE9looT73+3GYLcYQl8FUMlUkHXOYjaKdx3dkW07iWYllWSKFwrVgQGJ4r6q2EW
Kjdekx5hkHY9FbLrlyBnuK4fHEuJEqUG/6VFAyYVDm1zIDuN9nsGu7MkDL8sU/GQv4NOuABOS7joRl2GHN9asouwpG87R1p/V7qiHLC5SysNS9szjf0D
T3ihBcNaY+VFD4rB3gTNwaX36xs7DQ3vbIwek83D5VDdB+utjYa2tbO53MBVBV2EmVBla6uhtdaqKXQZXgiB61sfap3GNzvV9KIJMHSuaNc80vMI17c6
I+OqcD1cubLRbNA/uLHa2Oo06xttHjMK4+DGGm6013n4qJpa/OswG+f9oNtwU3RX3+ms0+5W6p1ma2tkBjdgPh5tud5urlQVdB3mEhBaqx9WU4ufKoDG
DSe6BTfazUdb9c4Obmj1jUct3Oysb44MfhOuxSGtb9ZXtPZ6/X5VSepHoiy98WY1dRzSG/eXqulFB2bGjDNdgGHLxtZKi10XHAvoxeCsN77JFyemTgb0
Fv+uAtMjJhUtwNVOc7PR7tQ3t7W1Ft6sj3LFVaiNYbQbK62tVcoPN+HaWO1mc2OjKVFSsR3gtZUHDx58pZpe/J4S3K8SFphyQXNrubWztapt7+DtVntU
QK7AxVGEFl5l4jEHl0argjtzMc02m99srFbTi39UoBKx5ZTTJHJ7Zb2xOWEOor7xjR0uI+NVy406buBqKqbXMO+kUQ1mR5syzs9QKia0vF/NTuiXslsO
XQI0Uv/eB51qfvEn7LJ21EjSNZXIw4WLfv01uDKOMuQKFa6PV4+wRWwXQ774GKZHHBvKq7JFgnCEyDciGvNweazmeUS6/ywTl1FwQHTTOzjr6ePXoLpi
W3vGvu+cKWVLfQwzoQ7E5fg3Wbh71yR9/nBCQkIzR8EBrvoW5AUwsM9KyD4nnnOrs4BWDkj3cJ0RQ8brfchxAHo9erAeF9bmmCc8V48Y33TU+KpTUF51
dEMedKrTUBFlTp7Fvwql0GhU3NYb9Y3OemwiSw1mI7XtBn6/ufWIy36kZrXxCNdX5TX0aBWuN9n173OltPy/W3EPefWJ5Z81oWVyxso/SwOw3KSVA986
PN2B8asyhTGVGE0P3xd4DXLMmZQHkrXEm4sCD70D0NU9Qs0+kfHn2AsNHOkIh9DRClTEATILfssnumKzGRgeP6sR58uswM5DotnGVxKbDxONX5HXG/gB
z6XYl4GeyWsND4bXKAqJQ/DU/uAGhfoIKuI9A7Fwb0JhTwAmqAPRBge46qcK5AU0Ke8ZhWL0xWEUXoptOvn9iMzp348IPW6RDT9uof4iDcVNYvln4NO7
8jm/5LQqznfiob8o26VPx3aBUGROJBR/obn021DBxOoRh/T4sr0FhZ54U3DChXD57CAOkIPLiKnhZUT1NxnI8kOyBMY9zZXbuPt8cdcvasPrIZw/ZZHF
nW3L07ueFk6gKwsgzwI780UMmT/2hIhH20SJ7npZ3MKw9jVi6bsm4UGcAp6W8AYHR96eLEXfnkQvwXTfsEQGGg8K8rBOpW9YLNuLbXYl3sDoHvoiwbvC
0moo3jaDsizvRZiheMNceYo5xTBpB6syXZ7iPoC8Z/SZ6ppO5K0Ow8ASE30dyt7wnQG3Vk1Mo2f3Yrb0PsGRFixiavTJd+lazYiIqSirTcjxAVEV0j09
iBv39CP2+qFpe5PMXtu0Pcyx1K9DhhbRNQDX0x2Pk0I8uMIgjAhXWCCFVwpPiHAvXv3LUAy+QdwX2vep6g3ufvJywMSp5BOp9NiJlPrzFBSkKptgA07f
M/tk2/G04Y3PNC5SCL8CcRnyRn9fGz6XmDP6+zuOiVSo8KsuMhWNi1KJA3ku2uj650+9/iG2K5yU7dTvZyEz6SpU/GHy8aQKLhBlwheIbkK5rztU0nil
uOzFYdsM5RLknhLmI4tgMy/x4LTzhLgiK06UqFu9Z9s9fnmlIN61s+0eu7gSXbDi6IItsDdH7H6fKnWpZsIgpgSZSvH45QGmZ9K4LIDs2gB6GWb2fHPP
MM0+RezbPcLfiiziaqhik8LDTFKJMAmCjKfv8yOoIma/x5hi+tRM8R5UD8kR14DSJFcTEx8ekyOmFrlRnjoMF110B6rCMTgKkhhn2GynJFykMd6D2bAX
EGAjhj0TMvbiLsUBVCJjJyR81GFq+DU93dOFzpqf8C24LD9jVfd0dQkKsuakZ2jqf09BKeStPG9ZuQ1T1La4xCRdL8gv5SaoHQAZmv4sjJYVaPqzENoS
XOz7pmeI9Bc3sKL8fvULrJJ/jSstaVRO8qNychumgruvlmlYXNAKuCLvvzLgGLcWT8ut6m/SkJt8afH56qOhsuGklMomolRyE5VK/hilUhhXKiEVUIyo
gFECwnMR99IZxf02TNsDT9t3hvJbDlKWHzmD4XUpi7ge6WkCmyeyFXGFg1sM2VX3Id3RnwW3M5XQ633xixrIYjp8mjuaaZ0ZzbRWf6lAjnvu5x7sFlT0
wcA0uux6eHDXoTwEtqx49Z9NUP+j08+NTf+HClR2LNNwvS8+6/08kZ8/5GOfcLcnvHT/2T7U9rdTUGLZkGchK4IMnXpw9meb7PVe/gatPPvjpbElyJxs
CbLxO7l5KNLRwpfxChxQ99BDyMtMyuTsW5FY2dHdQyzR1X+gQClU8YU8n3gNIHg91JP+tHwy1FO/p8BscOcqvHJLYjGUxPs8IWyxWGd9tVV9AsB7c33T
Q+9CQUSGZFxqIWF40tvkiDhoEeKYVIRjEGT6www99lt1oBLpJogZKKEHjEYfbk6NP9wceyErHXsh61w3SDJxDzM6xjkeZpx8dVH9owIIG38aF5yvAbBP
DafjFxmEbXJfAcSrWSRFXmTlAl9lNSycIi6xRi8B5UYuAan/RoFZ9t3B40qf0735INKTnhTpyYxGei5D3iXEGl4Cy9Hi+e4rfTobd64lpp7Ibsdcrp07
0XW9uZNcHZk75tRtbuKhyLku7c5NtLpzk4V06d+nILfNatAWFORtFqTGhjUjV13mrificBf8fSgGx37oVuybYdFTxbkXJyOJk8MWlEIHeeh2bCB39KBv
7krieR56D7Ls8A3F5UiFj+nmFpIR+OSW/kMKMpvE8tE3ANgs2OEUupYQRuenH7H9Rs5H7iivKWgDcjwcja4mvHeZ3Fskjs16+yj0Lrp4NhjFJ61FH0+f
u5n87rC8pPwYYNvULe7Worj5RDzeuUlR9KUfpqBcD4klakGR9s5j57eTTkMiN0knjoC2eId8qV5MWKpT9PchTAdUq1vuU+I8L8ou/Z8M5JiedtE2FIMX
ImP7H32mOFZiw4/dfif0tLF4cxItTuo4+jDlsf3vwDSlc+gJmNjlG38iZjK5vxNyG8N9Py9u3ubczN2O2BmPv7syecYtKAcM12q1Y9XtyFMjkzv8NswE
Xxb0eqLvnzS0ZLp/qkCOeSDuCWgx7qJNnnqH0yJ4HPJLSX2OuD+TlcaPU5Cvi4uHQhvxYqw2OoVsfxSidGCSTkTp5IElo+2G+h7e05rU98jLFMePsfRT
BbJ0n+GiFfF/yI7ZT00mRxuKwWRily5uQzd3LXFIuuk6h6P45wEAAP//bAcxQA==
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
