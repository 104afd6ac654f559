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
eNrcfFtsI8l16PBNHpISVTsPjual6dmxZ7W7Mzsz+xh7fW1TEjXizkiUi9Sud6+v+7bIktSrZje3uzkz8r1IgthIDH8lcWAD/jYMxEYAG0iQj/jTSH4S
IF8BjCBBYgT5Sb4COEF+kqBOVTW7ySb1Gq+NfJF16tTr1HnVqVMN303CZY+5T5h7cKdvDXZN+86Tu3c6hmXd7ruO75A5WXtb1N5+clf74wSklw3LIvOQ
3x54ps08r5pYSNxK0aDM6/qW4e84bq+aXEjcKtCgTM5CxvMdl1VTWCEKvIXHfN+0d71qeiFxq0SDMvkkzJpd1us7PrM7B/o+O6hmsO1MCPyIHfBOOgPX
5cVqVgyrykt3P7iza/p7g+3bHad3R67r1b3B9p0oBbw7uPS3+9vbWfx3H/78UhyZ+pZhTyTT/FS6at9KQH6FdUzPdGzyKqR5X0jE4r0Lt8c6u71pGfba
GYpo5CykvX2zL+jKobxEPg15i+34ujPwq6mF1K3ivWtxHQ22LdPbq7uu49Icb9Ac+EsFyDkDv+P0mPYnaUjz0Tgpmd3tO6bt48QKNCiT85DtMX/P6cq9
lSVCIN03/D25sfifPIDMRwPmHlTTOCltwupuf4Ej1W3fPaCiAfks5PaY0WWuV81g2xcntV0TaKK1asRns+10BSOUKP4nqzDjsY7LfF11nZtIqxYiir5p
2QuVPPIAct6g0+Gsn8dduxrXgcCgA4tRhU4WoNhxWZfZvmlYXrWwkLpVoGEQeZXLB+t7VcCpxfFDy2d9KrBIBVID16oWkeb87/wDgCE1eT0XGLGH/C8X
wCeGNWBy90Th08kHiflPQylMy+O01X6ShTSfF6e7bfSYbIX/I9yUnMhNqVhuSoe4SS42Eyx2yF/ZifzFZzWdv3IT+QvbTuevfIi/LkGBy6iOFYWFxK08
Kj57iVcSSO+YloX7WqD4n7wGaVSSRZzB5ZgZrDpub9VkVpciJmePvuH6XrU0kT02DdenAosPuvsVs18t42Twf4wUzJxICkZ4eXacl0NyUjmenLwMad/Y
Z9W5iatsG/uMIhK5zWmyy7wqwUGqsTTZZR4VaOQGlF028JjusY5jd73qCwuJW2VaQmBLwH5JYvQ7CUjzlcWK0XUofeg5to6Cw1zZushhmwJErgD0jGe6
xexdqYnLtNAznj1GABdEp++bjm1YKFh5GpS5IIr9RfnKU1nS3oBCwISx04pdjfbdBKQ5J05SCDumxRAuFYIq81V2HNtntq/7B33lJxQlrH3QR+L47Jmv
dAP/T6qQkyg4/xJVxahUZqNSqdmQQd4gN2GmM3A9xw3IKyZcFlBFYD47gSb0jtwDAUOG4ePxPRAsKbYg3zOe4TDaB1AKyxSnupBCOZwshXZDGllR4pTz
WY97U4oyQVn7/QQUQ9KETpVv+AOPcRctdStDg/JReOkaYFFnHw24fIvRgIPqCOEk2zFtw9KDUdI4ShmhLQnUvp2EPGVe37E9huvCClxvhsoSWRqq4yTK
/K0YKVa9HKKSUyGVTCDNDaViFf6fvAE5ZriWyVzpWlyaMhZVuJzPxZ5yW1OSyuS00l5pcFr3XeZT9tGAeT5XfdxVnOIPcv+bIhJ5C/KunCh2f8haAmS+
D0aHS74yu6Kk/UsCZqSb2BROIXmDeySc3/iMZmLNhETlW86owOYC2WOeZ+yqhasieQuyjLug3lFdVYlOLkPBZTuMe/RM7ugQQO7BOfasb7rM040dn7mB
es+gDL4gK2u8Tmp57QcJKIWH4nTh1stXOyhL5BxkXbajm8rpzbhsp4H6sON0lSji//DC09GFf5afcp4wl3efQWLGOSyrpt017d2WxKRBm8VvJqAUJjW5
AhebW+3l5npdb7Vr7bq+tdHarC83Vhv1lcoZch5ItHqluVGvJEgVzkbhq7XG4/pKJUkuwrlozWZ9Y6Wx8bCSIhfghWgVrbfp+5X0Yg9mR6ZMFuDyagMb
6q36u3XaaL8/MrV5OD+GUae0SSsJchmqY3Xv1egGn0fyNCe5v0jDtfGDmTz8HOswNzz9aX+ahFnK+o7rs64SmQijJsYZNb1v2oKTZmJ9ItnPI9PuUsQl
C1DCk7IuuVBqY4RRZMVFmFOHbF2gml3JgLOqosXhje5QpDMnFensJJHOHUukF38diqHF8q1XTPaosbEywjTnYC5Su17f2KokwlKA4Fa7Set6bbndaG5U
kmN9Ntr1dVWbOg07/ddNuBLDTm6XuSeMDMwfxp6H8OL/h0rbNWyPuwMnsidvQ84V7aQ5uR6D37C3nYHdlQNQ1UL72yTMROu4fkRWl84fsvKSOrMJQ//K
oSPEnN7Whu6CsCG3D+9lutOQDjkN16Dosg4zn7Cubgh/MkVBgWr+L+lw8J0UFNX2mo5N7kMGmU1ubZzl32BPmxxl7QwVuGQecuau7bisG4SQFIDUodQx
7A6zxACoZOJleTmEtnaGRpqRz0GeM9O20dlHssZzUQ0djmWJuHaGBo3Ia5DZYX5nD7VM/IFuldfzVSEiP81LOanmsI0W6wZFtDRfuTP0cVzWt4RZjl9y
wE1964AK7KUCV4iGbdq72v+FDM6Jy9sR4nkymhdW2rg/Qw8jUNq4gY2u9uMEXAikG8di3Y9dyCMeZ+oYHqdWgZnolms/S0ApTNWRw0E5OBysjh4OXjlk
f45xQNCgrAiv9wx3X5rMoiOovm64+6cSWgqlsLDE73gidsc5PVxmeI6tDoGipP0sB3kl2cfqcNSLSB7Ni0jFexFXAMSAeE6X/jhC8JR+A8pdZpl8mwSG
iNuVFBCRNCibnr49sPbF5OUBvWh6SwNrX6zwLch3Bp7v9JgrpTuO5ZYlCg2QyT3ImD7redX8xPiaoIzPelSgkgeQ6+wZLj/nFbDV1Umtaj1nYPtUoZPX
IeMbz5iK3B7WTiCTz0Cha3odDvJkHPCwlsMG5HXI9Y2DHrN9GRCcjw1+IQZVqJyvOs6g79gYFyxQWSIalEzb890ByqlXnREbFoaRl2Eu2NWu4TPf7LHq
LFrIiqpYkXByE2YEh3iDbd/xDQvjgAUqRK4lgZxT8I+uKD8nBkbgsiTvNSgKJEFkIlgXQW2k5DzkFWEwolegQZk3lqyKszgrGgtexSnchJm+cWBsW0w3
kMrVc2KmEipIz1m+a3p9yzjgcnFesLyENLp8mL7L+obL9B3HrV4QjoMErTouuQK5zsC3uPdT5YzObZAEfD2RWALI67Ko/UYC8oqnJ8Xd+nuOHegcLHAo
6xmmpe7XsMD5xOh2XeZ50iLH8UlNYFCFqv11AnISyA/Almkz/a6cQ4aX7gbge2oWvHSP74Vl2F1UqDJMpcp4ZuYnYBmS4f/JdSh5g23dcjqGpU7HBVr0
BtuPJYgr3b5py4MH/ysG8U1/0BVWHwcRZX4Csxx7V1TmxT4FAO0fElAIJD90tk+Ez/bzkP9oYIhgQFLccKoy0t41O8EtJhY41Dd9S+lCURiTqkyMVD2A
nAjEevImY6IOaCIaVejkAuRwA8yupAHuR6Or/WECiqEWv+hVhuaRCc+DXIIs537bx63LrJ2hsswZvgA5XZQ0Q05XSlowSiI8Sqyd5RzlDgOi+D+IzKSH
kRntfchtDlWgoKCK84gSxsWE/EuTK0rkKhQ994mr++6zoUUscFDbfdboal9LQkZYq4uQj5jhFM1JX+I43t5zPvBHTXXmUFOdPYqpzo2Zau03k0BqnX3b
eWqx7u7JzqC31bEmOdH7x8GGJ5q80emwvs8ElfI0KIc8qHTYg8I7AZf1dbRe4nyX54A2t1p4/ONoOnKQoAUI0LLTZZyanT3D3hXHwxw2L0hIzdd+KwkE
ZyhC4B8LEYaus4znStd5cjAyuojMyCK4RkYK9Ux74GPQmyOgeVsXoFE65UbppP1bAma5hvWazdbHQoUFKHEvTsqMiA0UKHAYyoxHXoQZIekBThpxSgIq
sa4AGJblPNVZ11T3YQWE1LumLxYuzpKcdlkVHxCgmq99P7TwX1gY/XU4rzxdvWd4+6yr24PeNnMlC5xVtetYuYF1yoymAzN6mgjY13NwdTwgJa4SThoC
mx5SOyQA9ttJKItT5scldXG3KOKCstcfXlD2+uQTUHrKDNe0d3G3BFetnaFFCeW79PVEYujWZcNu3VWAvuEaPeaLjAV+gA1BlmahrIe7176WgGpwt6SO
3B9/TPAHwYb8wuQAb26lHAjKpdTNrYBuIgWHe5WO7FWsUc7EG+WYVLRsbCpaEE/KHSuedApR/IMMvBgjik8M0zK2Te5BnzRb7e8TQNCPOIVgPd/AA4G0
02e2TGHA/4eZs8sA/sC1dcceauw8hzTtmq/9KAlzXF//yqzwMhTk1kk/m9sfBRgzc5kjmLlsvJmb4seM0CwfpdlpePWfM3BpnOU+fOpPzjv9TgpK73iO
/R7bbjv7zA4lSCQiCRJ1KO2zA53ZHadr2rvyki0uHBzu7hE7oMV9dlCXzchnINuxDLOn7hdePKSDZY5MZRvSjGhrkft455Aebm8GLUTYMtQFeQkqlrmD
QZWRa+1ZBZdX2qGMkmwkoyScOZKLZo7M/y+YHRn9WDFOB+bGaHH0VKHQVqYiW1mFnEwCVr6rLC72YXZk94gGV99pNTf09+pLerv5qL6hP6rHXDrH4NDa
e+ISMaZuqdaqv/n66W6df/gS3Bjn9i7zOq7Zn+4pTZMSbQ5mV7CTbXXO0v4mDcWVYcdkBpLBeT9pdjlFnzDXM4OIsipiyjbvteNYKmdJlflRQAW9cEdl
hFzCNvjGalDqGH1haEymNFIERpYAnjgdY3tgGVMTNt8NkB66zqBPQ63IA8gZMoySmxgnkf7Gzg5zqULnpltllOteZ4/1DJm6OaPALYSST0FBJaeqEHBc
uLkucegQm9znDMtZV8WAL05MqaQKk7wOOVO4AjL8Oz/FWVCo5C5kLbNnYiJoYsJIjxGBSkTyuWi+ZhkHuxJn1QKsSDqn9s0EzI5sDpfoXf5HhWmwQC5A
zrF1bo+Qz/I069gYarsEBcfWZeRFHtYdW0aoXof0PjtQ+nJhKmtwhY3Y2lcTUI7AYzXPa5B2BxaT5iDuJuBdroswCxUxuazgiQ+jCpybVZH3P7DNIP2Q
/9e+l4BiiO8maT8R0kqGQ1rXoLh9oAcXpoIosH2gfHbyMswNLYHiXXFdXRlWSO69BkWP2V1PZ09UKmSeAoLqHKL9XQLyindjZ7kAxZBuUomBIRBfx57j
+ep4LQqYDsxc39wxO9zESCURAnERDBXDDzlCYL6BbwO4HAMZV14Cx20ZNXyGTE4LrvqrdaEQwLlakycRdacYlDHkz1zT6QYWNYkYZQFV9vQsZLYHrudL
tSgK2v+GrBDkE9LwEhT6zNWHT2HyNN9nLvp/2n8kAIZCeMIR7kPWMQb+3j15TRunIZo1jrB2hkpUsgwFz9y1DX/gMnlTcCP2ehdp2FKoa2fosB25D6kP
n/pTrtLDtnvtDOXYS1mRKaJ9Kw1ZMS1yn+sWQ75AmYlVVdjFQ45EBe7UtwZxL1QuQcHnnegD15JMm0fAlmvxyo5lMtsfngnzAtDokhtQlpXSe5FBUwGU
3NGEGU5ZvpMdkVSRw8V8Mk7vYsNaBJ2ONMf3Ux2nry41REGktO+4zNvTcfL4+qBASxIoXOZGxCsVFuqliVwx1R8dOpnFiU5m6fk6mT9PQmWU7yaeApah
YFi7jmv6ez2p82/G2WLVUU0h02E78nnOSvIYkcI+XpzWhzo70KBVhBzpKDlCJMxESBhQIBv2kV+CCnfyPd/o9eW7DenFzwZwmVK+Hkblh0p5eIs/BbUV
6ipihroTAO13s5CT7kdsOtfbkOsP3L7jKeM6JTy0KRCpakEeQBYNGpMEXpjcFg0coxI/RL70hMT5TIQjzkO277Id85k6FokS+Wxok3MTqSTnELPFcRuT
j9+Yl2HOdyzmGnZneIoroFWpBBXK7ISvkUD46uoa6axKoBOyJ1PiuOU3d23W1fFtREnGHxDUZs98bn6HMxUdiOv/mQAsHjBsxDDQDJLmxmTSBHw0xkH8
/GA7fM2SPLPCWCFMkuYTMBtk4UiscKZAoyvx3oCM0G9zh8XVUOVRgY2eR2BP9b7h+jJ/YGYIxscqN2FIDIEnMgnKAZSjaT8ZZi4J1TrtvaSyOsmQ1TkP
WdPzBkGsXpb4+OKfHj35lgW0JYB45TXompheLM2SKnOGVP+DTgTLzyq47EZbgqw4I+CbFdZz3AO9t60cJQFY3+aVpq3vWObuni99pLxpr2J50YdC4Dnz
A/a7tcdbdZ1uPR5NRr8EF0J17601H9f1ja31pTqtJMg5mAtVNjfqenO1kiQX4IUQuLbxvt6uf7FdSS1aAEPTz7sWR/aHtLbRHhlXg6vhyuXHjTr/ofWV
+ka7UXvcEof/MA6tr9J6a03EASrJxV+Ds3G2mdyE67K72lZ7jXe3XGs3mhsjM7gGl+LRlmqtxnIlQa7C/ASE5sr7leTi9xJAxk0VuQHXWo2HG7X2Fq3r
tccPm7TRXlsfGfw6XIlDWluvLeuttdrdSmJSPwrl3htvVpKHIb1x914ltejC3Jg55BswbFnfWG5iZv9YZCYGZ63+RbE5MXUqMrP4ewmYHTFiZAEutxvr
9Va7tr6przbpem2UKy5DdQyjVV9ubqxwfrgOV8Zq1xuPHzcUSjK2A7q6fP/+/U9VUotfTQSp0NLmcS5obCw1tzZW9M0tutlsjQrIRTg3itCkKyge83B+
tCpIb49ptt74Yn2lklr8eQLKEevJOU0ht5bX6utT5iDr61/YEjIyXrVUr9E6rSRjeg3zTopU4exoU+T8NKfihJZ3K5kp/XJ2y5LzQEbq33mvXcktfhvf
VUXNEt9ThTzcuOjqr8DFcZQhV2hwdbx6hC1iuxjyxYcwO+JKcF5VLSYIR4h8I6JxCS6M1TyPkOV/puPudfeYYfl7J71G+hxUlh17x9wduCfKC9EewVyo
A/mO7U2MW25brCfeOE7IgBQoNMDV3oKcBAb2ORGyzxNvG7WzQJb3WGd/DYmhAq8DyAoAeT16vRkXnxSYR7zdjBjfVNT4ajNQWnENU91YabNQlmVBnsX/
B8XQaFzc1uq1x+212OdiVTgbqW3V6buNjYdC9iM1K/WHtLaiXoxFq2itgS+1TvW05t9vxH1zo8fswUnTCqbnDfxRCgATNpb3Bvb+8W7+XlVZxsmJj9XD
CcavQRajPupmqRr73QHH5UcdxCNvA3QMn3Gzz1R0NDYDWiAd0BA6WYayvAnE0Kz6mkZsfiHiiaC7vCjEAga2o+mJFyc2H2YmvqLyoUWk/nzsI/5nKg/6
/jDvOj9xCJELHKRcaw+hLJ8eyo17E/I7EjBFHcg2NMDVvpeAnIROSpQkoQhyYRgjVmKbmvzUM338p56hd6iZ8DtU7UcpKKwze3ACPr2tvrwzOblF8J38
Jk+U7VLHY7tAKNJHEor/0Vz6JShTZneZy7pi296CfFd+/mfK2y31hSAaIAcPWJLDByzaT9OQwX2bxLixeQfJiZkVGGpOhULNcfna1WE+ueBPVcSoqGP7
RsfXw2lMJQkUuTgnztxWWTxPmPy+iizxUy9GCkx7V2e2sW0xETbJ01kFrwtw5DNRxehnosgnYLZn2jIPSIThRCCl3DNtzALCw67C65ud/YHMIi1jfgTH
20QoppIuwhzHGybXcswZxOQdrKj8Wo57H3K+2UPVNTuRt9qIQRUm+TyU/OGTQK9amfjSBRPpN4weo5EWGKM0e+wrfK/mZIxSlrUGZMWApAKprhFEarvG
AX6oyHL8aWavZTk+FVja5yHNi+QKgOcbri9IId9GIwSJcBEDKaJSekJMePHa/4FCsAb5wGB3wFVvInhggOWAiZOT70tSY/cl2veTkFeqbIoNOH7PuGTH
9WXWdFqk2XCISBi/ADmzt6sPv2yUNXu7W65FNCiL3HiVUyREqSiAIqlodP9zx97/ENvlj8p22tcykJ72diL+qvNwUgUvDtLhFwfXodQzXC5polK+DhGw
TUQ5D9mnDH1kGd4VJREOdp8wT6Y3yRJ3q3ccpyuy3fPyEzSO08VM9+iGFUY3bAGfBzu9HlfqSs2EQagEUaX4XON29lHPpGhJAlscRl6GuZ2BtWNaVo8j
9pwuE591KtBKqGKdw8NMUo4wCYG0b+yKbzgVKP4fY4rZYzPFO1DZZwdCAyqTXJl4Lf+IHaBaFEZ5Zj9c9MgtqEjH4CDIRpvD2c4ouMxHuwNnw15AgE0Q
ey5k7EUDbQ/KkbEnpCPUYGa4mq7hG1JnXZqyFlpSy1gxfEO7B3lVc9RbK+2fklAMeSvPW1Zuwgy3LR6zWMcPEgWFCWoFQEQznoXRMhLNeBZCuwfnegPL
N2VyhhdYUfEg8wWsFKvxlCWNykluVE5uwkzwWM62TFsIWp6W1YM5BI5xa+G43Kr9NAXZ6a+cnq8+GiobQUqlbCJKJTtVqeQOUSr5caUSUgGFiAoYJSA8
F3EvnlDcb8Ks0/f1XXcov6Ug9/ShK0WXe1A283zW1SW2yEgq0LIANxHZ03Yh1TaeBc+5EqEP7cRvaiCLqfD96WjKbHo0ZVb7cQKywnM/9WA3oGz0+5bZ
wfekQcZ5aQhs2vHqPzNB/Y9OPzs2/W8koLxlW6bn//LTl0+VG5yO+6iKa57ioyrTX5RoP08AoeavxnOtKwC41HCiZQEh6PW+AkRU49FKPfcR7lAFa/B8
JZ/6RNO7s6PP1P4sAWdx3VwrfGxPZsJHv9S0o1969Oh3AXIeY/YwvT/Li6fLRP9HEhfollOfyG6HvHmaP9JDjPmjJAXPHxKGn58aJT3VW6r56WJ47y+T
kN3EGrIBeZWJTLTYSEYkTXn+6kQcYXXfhUIQ6SdxOQejFwnzL05HkpcFTSiGYvfkZmzsZjS2P39xYgifvAMZjLeTuESEcGR+fmEygpjcvb9KQnqd2QPy
BQCcBcajyZUJkTMR8IztNxISvZV4LUEeQ1ZEoEicVxDEE2N7i4SusLcPQl8tlB/1IvGZIdFPG85fn/xVMPU67BHApmXYwpKRuPlEjNz8tMDZvW8koVQL
CR5pQoH3LsJlNycFQCOvgKaOQDZEh2KrXpywVcfo732YDahWs72nzH1elL33r2nIoib2yCYUgg8JxfY/+hGxWIkNf4rqy6EPj8lPE5HFaR1Hv190aP9b
MMvpHHpaHrt940/Pp5P7y3B2SO5Q38+LmzcFNwvHInbG4+/Ep8+4CaWA4ZrNVqy6HXlyPb3DL8FcsLKg1yOtf9rQiul+mIAs+hjeEWgx7oRNn3pb0EK5
L+STk/occXCmK41vJSFXk49GpDYSxVhtdAzZ/iBE6cAkHYnSkwdWjLYd6nv4cGBa3yNPgg8f4xRu1n8HAAD//9yYG6U=
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
