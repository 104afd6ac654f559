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
eNrcfV1sJNnV0FT/9+luu33XM9Njz4+nZmcz692d2fHsz2R3SdK22+Pesd3O7fZudhNSlLuv7VpXV/XWz8w4IEBKJKLwgghKEAiJiCgSASQigUAiPBHB
A/CKlEgEiBAPECGBFCRePn26f9VV3VXtv9nd6Hty33PP/alzzzn33HPPuYafpuCqS5wnxDm6NzD9fcO69+T+va5umncHju3ZaEbU3uW1d5/cV/+5ApkV
3TTRHBR2fdewiOvWlAXlThoHZVo3MHVvz3b6tdSCcqeIgzKahazr2Q6ppVkFL9AWLvE8w9p3a5kF5U4ZB2X0JZg2eqQ/sD1idY+0Q3JUy7K2UyHwY3JE
O+n6jkOLtRwfVpaX7398b9/wDvzdu127f09812sH/u69KAXce+zT3x3s7ubYrwfw7+bjyDQwdSuRTHMT6ar+SIHCKukarmFb6DXI0L4YEUtLl++OdXZ3
29St9QuYoaFZyLiHxoDTlUJpCb0DBZPseZrte7X0QvpOaelGXEf+rmm4Bw3HsR2cpw1avrdchLzte127T9R/kYEMHY2Skli9gW1YHptYEQdldAlyfeId
2D2xtqKEEGQGuncgFpb9Rg8h+6lPnKNahk1KTfi6u1+nSA3Lc44wb4C+AvkDoveI49ayrO2LSW3XORpvLRvR2ezaPc4IZcx+ozWYcknXIZ4mu84n0qrN
EHnfuOKGSi56CHnX73Yp6xfYql2P64BjYN8kWKKjBSh1HdIjlmfoplsrLqTvFHEYhF6j8kEGbg3Y1OL4oe2RAeZYqApp3zFrJUZz+nPuIcCQmrSeCgxf
Q/qTCuAT3fSJWD1eeCf1UJl7B8phWp6mrfqrHGTovCjdLb1PRCv2O8JNqURuSsdyUybETeJjs8HHDvkrl8hfdFaT+SufyF+s7WT+KoT4ax6KVEY1VlFc
UO4UmOKzlmklgsyeYZpsXYuY/UavQ4YpyRKbwdWYGazZTn/NIGYPM0zKHgPd8dxaOZE9tnXHwxyLDrr/HWNQq7DJsN8xUjB1JikY4eXpcV4OyUn1dHLy
CmQ8/ZDUZhK/sqMfEsyQ0F1Kk33i1hAbpBZLk33iYo6GbkHFIb5LNJd0bavn1l5YUO5UcJkB2xz2BYnR31AgQ78sVoxuQvkT17Y0JjjEEa1LFLbNQega
QF9/ppnE2heauIKLff3ZBgNQQbQHnmFbuskEq4CDMhVEvr5MvgpYlNQ3oRgwYey0Yr9G/akCGcqJSQphzzAJgwuFIMv0K7u25RHL07yjgbQTSgLWORow
4njkmSd1A/2NapAXKGz+ZSyLUanMRaVStSDLeAPdhqmu77i2E5CXT7jCoZLAdHYcjesdsQYcxhiGjkfXgLMkX4JCX3/GhlE/hnJYpijVuRSK4UQptBpi
k+UlSjmP9Kk1JSkTlNW/pUApJE3MqPJ0z3cJNdHSd7I4KJ+El24AK2rkU5/KNx8NKKjBIJRke4alm1owSoaNUmHQtgCqP05BARN3YFsuYd/FKtj3ZrEo
oeWhOk4xmb8TI8Wyl2NUcjqkkhFk6EYpWYX+Rm9CnuiOaRBHmBbzE8bCEpfyOV9TuteUhTI5r7RXm5TWA4d4mHzqE9ejqo+aihPsQWp/Y4aE3oaCIybK
uj/mWwJkug56l0q+3HZ5Sf29AlPCTGxxoxC9SS0Sym90RlOx24RApUtOMMemAtknrqvvyw+XRfQ25Ag1Qd2TmqoCHV2FokP2CLXoiVjRIQAtwUXybGA4
xNX0PY84gXrPMhl8QVTWaZ3Q8uo/UqAcHorShe5enlxBUUIXIeeQPc2QRm/WIXtNpg+7dk+KIvsd/vBM9MO/Qk85T4hDu88yYsYZLGuG1TOs/bbAxEGb
xR8qUA6TGl2DK62dzkprs6G1O/VOQ9vZam83VpprzcZq9QK6BChavdraalQVVIPZKHyt3txorFZT6ApcjNZsN7ZWm1uPqml0GV6IVuFGB39UzSz2YXpk
ymgBrq41WUOt3figgZudj0amNgeXxjAaGLdwVUFXoTZW92Edb9F5pM5zkvsPGbgxfjATh59THeaGpz/1X6VgGpOB7XikJ0UmwqjKOKNmDg2Lc9JUrE0k
+nlsWD3McNEClNlJWRNcKLQxg2HGioswIw/ZGkc1eoIBp2VFm8KbvaFIZ88q0rkkkc6fSqQX/wqUQh9Ll14y2ePm1uoI01yEmUjtZmNrp6qEpYCB250W
bmj1lU6ztVVNjfXZ7DQ2ZW36POz0m/twLYadnB5xzugZmDuOPY/hxb8E1Y6jWy41B860n7wLeYe3E9vJzRj8prVr+1ZPDIBlC/U/p2AqWkf1I2N1Yfwx
Vl6WZza+0b967Agxp7f1obnA95C7x/cy2WjIhIyGG1BySJcYT0hP07k9mcYgQXXvCzoc/PcslOTyGraFHkCWMZtY2ridf4s8bVGU9QuY46I5yBv7lu2Q
XuBCkgDUgHJXt7rE5AMwJRMvyyshtPULONIMfRUKlJl29e4hI2s8F9WZwbEiENcv4KAReh2ye8TrHjAtE3+gW6P19KsYIj3NCzmp5VkbNdYMimhp+uWi
EVoZqleKM8mtwzUuxVq/gEvusEg76RPL16QEFRM72SSWL9iSdtIfFmknbKE0f9CjGhoSO2ELu8OwaCf2sIjeo4ch36EWbom1X4hbQ44RfItswpWASXSX
1MqJHMBGxxyNNhYt6NbikIHJDZz4poFcDswjzLGXi3Rr0S3D2lf/Cz3GhMg6uvUpJ9v6UvFb3wO59aXZ1nctaYkjG98lav3prm2JDVWUqKz6lmeYQkXw
AlUfdpd5npn6yHH1IUF1T/0mlEIc8Hw/UP0LkGXCQRX/CRzLwq0cHoHz3/gIbMmbPfWXClwOthk2Ful97rtN5OiTPsXRR63CVFT3qL9ToBxmypFTaiU4
pa6NnlJfPYa9T3FSVaEiCa/1dedQsBqX62ZvU3cOz7V7YCiHtXb8iiuxKx7i/1SY/9V/rUAlokZO26ugsvRxcCpLj1E66mQaHNiWPFLxAj1QmXaXb1bZ
RL0vZrghMHHQRv0mTI9UojkoUAJ5fk9a7kGZmvWmbe3zSj7nIQBNQUr32KTTOKV76k8UKIV09KlIMw/F7oFu7YcEvcABkdVIR7TRfWkPZI61B4Q1oL4D
5bAiP80c1d/loSD7O9XHjeq71Mn0XTpeoV8D4AMyb6HwCjAI8xXegkqPmAalA8fgtwdlCWRIKlQMV9v1zUM+eeEmLBnusm8e8i98Gwpd3/XsPnGEjRFH
4BWBggNktARZwyN9t1ZI9PJzynikjzkqegj57oHu7BN+RzTBAKj3bd/ysERHb0DW058ReX90XDuOjN6DYs9wuxTkituI41oOG6A3ID/Qj/rE8sS1xFys
C55hYIlK2bhr+wPbYrcTRSxKSIWyYbme4zMl7dam+IKFYegVmAlWlQqXZ/RJbZqJXlVWrAo4ug1TnENcf9ezPd1ktxFFzPVtWwApp7AfmqT8DB+YAVcE
eW9AiSNxIiPOugzUYZScg4IkDLtXKOKgzAwDzqpsFrO8MedVNoXbMDXQj/Rdk2g6o3LtIp+pgHLSU5bvGe7A1I+oXFziLC8gzR4dZuCQge4Qbc92ape5
/SFAa7aDrkG+63smPYPVKKMz448Dvq8oywAFTRTVv6pAQfJ0kvefK+ZUWDHPQpb0dcOUt/ysQPlE7/Uc4rpCRcXxSZ1jYImq/icF8gKILkLONCyi3Rdz
yNLS/QC8JGdBS0tcl1s9tpumpS7nZea5M7wj6Rimv9FNKLv+rka3B1P66Iq45Pq7GwJEd9yBYQn3B/0Z2TDykzaMwsiGof43BYqB5Ic8jErYwzgHhU99
nbskUzzOQpYZ7R2jG8RSsAKFeoZnBlslK4xJVTZGqh5Cnl8HueI+NVEHtBgalujoMuTZAhg9QQO2Hs2e+k/kJshbfNZfGZpHNjwPNA85yv0WN8ez6xew
KFOGL0Je4yVVF9MVkhaMooRHiTWyKEc5w2sZ9jvwD2eG/mH1I8hvD1Ugp6D0NvMS885z+ReWES+h61BynSeO5jnPhjtikYI6zrNmT/2XKcjy3eoKFCLb
cBrnhSF5GlP/Obsdo1t19titOneSrTo/vlWfYcdVf5MCVO8eWvZTk/T2z+Y9uysNsFSi3yJsfVGu17tdMvAIp2wBB+XEI+c8FKkm19iOx4+dBQro0J2O
Oa4omsa4jtMPOGjF7hG6AtyMZCfTPGsuLM1e3UN3Ydb2Pc3eo0vZPRSrzulYxFXb91p7bVrD1t5FL8G0YT3RTaMXoPKQlooAczz1tylA7Mv5peDnQtzh
6SIdOV0kX89EiZMdJc5NKDPK9w3L99g1IEVgW+0mB43SPz9G/8+KwP9PgWnKzW6r1f5cqLsAZSo3wazSbFZAYWLqL8IU12YBTobhlDlUYF0D0E3TfqqR
niEjD4oM0ugZHico99qFXCkSVPfUn4c+/DO7sHwDLklrXuvr7iHpaZbf3yWOYK1ZWbvJKrdYnTQVMoGpsGgDDH1LaB4u85uKuKu7WaiGK1vbja2qgi4B
CkNXNlptdm03At+u71D4uS43/n0ero/fNfBb4rPebky+LTnmbuOvpaDC/Tafl/qIuyDnsSf9wTD2pD9AL0H5KdEdw9pn7MHZeP0CLgkoZYvvK8rQVs6F
beXrAAPd0fvE48Foyp0yDkGWp6GihbtXv6dALQgbkE6sz/+6538HC/KZCR4LyhGCxymXlkE5HLrNKDhcq0xkrWItnWy8pRMTZZyLjTIOHNz50zi4UX3E
r184iV8/4tU/jzT/wyy8GCPNT3TD1HcNerI5ayzzf1UAMaV2Dtl8vg4hBBl7QCwR4MZ+H7e1XwXwfMfSbGu4yxQopGXVPfUXKZihe8wfzRdehaJYOnH+
oXumBIxtzdkTbM25+K15kq0YpVkhSrPz8Or/ysL8OMt98tRLzkr4O2kov+/a1odkt2MfEisUPqdEwucaUD4kRxqxunbPsPZFCEac0zjc3WNyhEuH5Kgh
mqH3INc1daMvb59fPKaDFYqMRRvUiih8Hhl/75ge7m4HLfhdQqgL9DJUTWOPObtGgp6mJVwEPIXiDXOReMNwXGE+Glc49+dgemT0U1082DAzRouTB5KG
ljIdWcoa5EWKiLTjRXFxANMjq4dUuP5+u7WlfdhY1jqtx40t7XEjJiQpBgfXP+QhJjF1y/V24603zheT9I/vwa1xbu8Rt+sYg8nG1iQpUWdgepV1sivP
suoPslBaHXaMpiAV+GFSRo9S9AlxXCO45pFFltBDe+3apoxolWV6LJLOSLai4tpKwLbowqpQ7uoDvtEYRGqkCAwtAzyxu/qub+oTw/k/CJAeObY/wKFW
6CHkdeHeyif6r4TJsrdHHCzR6e4v8400t3tA+roI7J+S4DaDoi9DUaYuSNd83DVAQ+DgITZ6QBmWsq70zV9JDLjHEhO9AXmDWxPCLT83wd6QqOg+5Eyj
b7A0ASVhpA2GgAUi+mo0mr/CBou7HV8JsMYSVwa2acpsgtj7Zts0McdS/4ECGVqO1QQLUApJgAxODoGYp5w4ht0LFB7nywqHSnU3D8UBcfiGKiPeB8Rh
GynlXNsyj7QBYdGL4vRZorBtDlJ/qMD0CMdRNbVPf0ifICugy5C3LY1usmy6BZyzLebXnYeibWnCzSe8PLYl3KFvQOaQHMlNYGEiv9NdiGGr31WgEoHH
EvF1yDi+ScQeF+cE+4AqWJZ4wTCpAmBHb+aOoiIqi7R/3zKCiHv6W/2ZAqWQMCWpdO4/TYX9pzegtHukBTFCnCiweyTPMugVmBlub1IgeYRWdVghRPIG
lFxi9VyNPJHR/wUMDNSgEPW3ChSkQJ6R3WYhe2C7nvRz8ALLgCGOZ+wZXbpvCs0XAlG9EiqGcxdDYLqA7wI4FINJo4h7ilsyrHuESS4uOvKn+rcVKAYV
VFmLI5oMXwjKMWKTihObWcju+o7rCaHiBbQEWbdri0vWqcTptSkO5qjqNyHHVdoZCR8R4HRUgNX/rwAM1dEZR3gAOVv3vYMlEUUSpytbdYqwfgELVLQC
RdfYt3TPF3qltHQrNvqE0b0tUdcv4GE79ADSnzz1JgRKha2Y9QuYYi/neESl+j+zkOPTQg+oQtJFpmZ8SBPr4hFFwhx3Yk5eXCbnPBQ92onmO6bg9AID
7DgmC1cwDWJ5wwN2gQOaPXQLKqJS2HHCrc+BgjtaMEUpS1dSxHPk2cd8KW4HYg3rEXQ80pzlGTNmLYg8Y1rgqV97DnEPNDZ5FqNXxGUB5IeHZsQ+53v1
y4lcMdEyH5rbpURzuxw1t+kc6bfYjvEdwqjNr8fLAZBSnMDsECk0W775LiXPti5bjU77BX285pym/9wa1JLGO9UR4g8pqI7KUuIZbwWKurlvO4Z30Beb
3+04S0t2VJfIeNgOfY2Khzgk8kjBFyf1IU+GOGgVWeLMyBIP2SIbYYuAArnwCehlqNIjnOvp/YHI2RRntOkALtLJNsOoe7bTF0fz+DNuR6KuMcxQdxyg
/j4HeWFcxoZyvwv5ge8MbFdaGRP8h9scEcsW6CHk2M4uQzEXktuynZ5ggR8iXyYhaS4b4YhLkBs4ZM94Jg+9vIS+ElrkfCKVxBxiljhuYQrxC/MKzHi2
SRzd6g7P6EW2u1aDCrn9hi9vgZ/E5OXtrAye5/pEhMNTE8jYt0hPY3mRZeFdYqAOeeZRO2Q4U94B1ypTAZgnL27FMNAUI82tZNIEfDTGQdTGtmz6zYI8
03wDZjBBmpdgOgh8FFjh+JxmT+C9CVmus2eOc7wyNY45NjPBAhuBqkpPRO1MDcEsUfU2DInB8Xj8TiWAMjRKa+af42S8GPLkcRJSvj7QHdJjAT7xVn2b
Ichzm8BXMVQiFZQRAl+gwi1yV/gAX4JpWSWpxtVmRWBwqqm/Gsa28t1t0tMOcuNPhTb+S5AzXNcPLrtEiZKL/9KibpgKh7Y5kN1x+z2DZUIJy0CWqfzI
30EnXEKnJVx0oy5Djh9YWXot6dvOkdbflfYtB2zu0krD0vZMY//AE6ZtwbDWWHnRg2Jw4kFzcOmD+sZOQ8M7G6OXb/NwOVT34Xpro6Ft7WwuN3BVQRdh
JlTZ2mporbVqCl2GF0Lg+tZHWqfxjU41vdjmtjmziumouN5paO2V1nbMlV+ojt3nVZURaAuvNnA1tWgCDE06Ol/ulHqE61udkW5VuB6uXNloNugf3Fht
bHWa9Y02d2+FcXBjDTfa69zTVU0t/mWYjbO50G24Kbqr73TWaXcr9U6ztTUygxswH4+2XG83V6oKug5zCQit1Y+qqcWfKYDGt2t0C260m4+26p0d3NDq
G49auNlZ3xwZ/CZci0Na36yvaO31+v2qktSPRFl6861q6jikN+8vVdOLDsyMmQR0AYYtG1srLZbZOOZ7jMFZb3yDL05MnfQ9Lv5NBaZHNnK0AFc7zc1G
u1Pf3NbWWnizPsoVV6E2htFurLS2Vik/3IRrY7WbzY2NpkRJxXaA11YePHjw5Wp68e8pQSqY2PcpFzS3lls7W6va9g7ebrVH+f8KXBxF4OyuUPKMVgXp
fTHNNpvfaKxW06gGs2NVja2dambxDwpUIrYF5UGJ215Zb2xOmJ2ob3x9h0vPeNVyo46pnMb0GuaqyAxlUyYTGUrfhJb3q9kJ/VJGzKFLgEbq3/+wU80v
/phlnEc3bbraEnm4pNGvvwZXxlGG/KLC9fHqEYaJ7WLIMZ/A9IihRblYtkgQmxD5RoRmHi6P1TwPd/2fZOLCIg6IbnoHZ71C/SpUV2xrz9j3nTPFnamP
YSbUgcjwf4v57HdN0uevPyREZXMUHOCqb0NeAANzQAmZA4mX9eosoJUD0j1cZ8SQlw4+5DgAvRGNDojzzXPMEwYHRPb6dHSvV6egvOrohrytVaehIsqc
PIt/EUqh0ai4rTfqG5312GicGsxGatsN/EFz6xGX/UjNauMRrq/KXPpoFa43WQ77ueJy/s3tuNfI+sTyv5ConH+WBmDxVysHvnV4ukvx12SYZirxxiCc
E/E65JhpKy9da4nZmQIPvQvQ1T1C7QUifeyxSRsc6QiH0NEKVMQlOXPwy2fIYiM2GB6/jxJ36KzA7nyiEdVXEpsPg6lflSkc/BLrUuzrR89k6saDYapI
IXEInr4QZImoj6Ai3mwQC/cWFPYEYIK2EG1wgKv+TIG8gCbFdqPQPURxeNMgpTqd/EZG5vRvZIQe8MiGH/BQf5GG4iax/DPw6V35ZGFy6BjnO/GYYZTt
0qdju0AoMicSij/TXPpzBcptivX5Z5e+DhmqU8WdwNWEHG7GTJhhqt+CCiZWjzikx3nsbSj0xCOPEzL05TuQOEAOskNTw+xQ9dcZyPJbywQpO00OdFyC
ZVw+TG2Yr8OFSRaZT9+2PL3raeGIxrIA8rC8M2fGyIC+J0S8oidK6GWosq3JsPY1Yum7JuEOsgKelvAGB0ceAy1FHwNFL8F037BESCB3uHKXWaVvWCz8
jvkJJN7A6B76IuK+wuKcKN42g7Kw+0WYoXjD5AWKOcUwaQerMn+B4j6AvGf0mZ6dThSEDsPAEhN9Dcre8OEHt1ZNzGtgiUpbep/gSAvmjTb65Dt0rWaE
N1qU1Sbk+ICoCumeHvjke/oRe47StL1Je3TbtD3MsdSvQYYW0TUA19Mdj5NCvIDDIIwIV5gPilcKq47wE4n656EYfINI4Nr36T4RJOPycsDEqeTbvvTY
bZ/68xQUpN6dsGGdvmf2ybbjacMU3DQuUgjPSbkMeaO/rw3fr8wZ/f0dx0QqVHjukYwN5KJU4kAeHDi6/vlTr3+I7QonZTv1e1nITMpNi7/dP55UQUZX
JpzRdRPKfd2hksYrRfYdh20zlEuQe0qYvS8c+bzEHf/OE+KKMEVRokeEPdvu8Wyignho0LZ7LJMoumDF0QVbYI/A2P0+VepSzYRBTAkyleLxbA6mZ9K4
LIAsjwO9AjN7vrlnmGafIvbtHuGPdxZxNVSxSeFhJqlEmARBxtP3+fVeEbPfY0wxfWqmeB+qh+SIa0BpP1QTI1EekyOmFrkFMXUYLrroDlSFFXMURJXO
sNlOSbiIK70Hs2GTJcBGDHsmZJmI5JYDqETGTojAqcPU8Gt6uqcLnTU/4VtwWX7Gqu7p6hIUZM1J7yfV/5GCUsi0et6ychum6N7iEpN0vSDgl29B7QDI
0PRnYbSsQNOfhdCW4GLfNz1DxCO5wS7KE95fYJX8a1y5k0blJD8qJ7dhKkhGtkzD4oJWwBWZkMyAY9xaPC23qr9OQ25yFunz1UdDZcNJKZVNRKnkJiqV
/DFKpTCuVEIqoBhRAaMEhOci7qUzivttmLYHnrbvDOW3HMSQP3IGw/w1i7ge6WkCm0cWFnGFg1sM2VX3Id3RnwXpskroOcX4RQ1kMR2+KR8Nfc+Mhr6r
v1Qgx48Z5x7sFlT0wcA0uixfP0g+KQ+BLSte/WcT1P/o9HNj0/+BApUdyzRc74tPQziPF+v3+dg39e0J/3rgs30576+noMTCU89CVgQZOvXg2tQ22XPK
/FFgeW3KS2NLkDnZEmTjT3LzUKSjhbMjCxxQ99BDyMvQ1uRwaBHp2tHdQyzR1b+vQClU8YW8Z3kNIHjO1ZP2tHzD1VO/q8BskAQXXrklsRhKYoJVCFss
1lmf0VWfAPDeXN/00HtQEG4s6URbSBie9DY5Ig5ahDgmFeEYBJn+MPqR/VYdqES6CXwGSuhFqdGXtFPjL2nHZsilYzPkzpXSk4l7KdMxzvFS5mSvtfoH
BRA2/jgyzq8BsE8N50cUGYQdcl8FxKuZJ0VmFnOBr7Ia5k4RWcXRrKzcSFaW+m8VmGXfHbx29Tk9ZBB4etKTPD2ZUU/PZci7hFjDrLwcLZ4vgez/zMbd
0YmpJ7LbMdnOcyfKn5w7SS7P3DE3iHMTL3jOdV8zN3HXnZsspEv/MQW5bVaDtqAg04uQGuvWjOQezV1PxOEm+AdQDK4w0a3YR9yiN6RzL05GEregLSiF
LiXR7Viv8+il5dyVxLtJ9D5k2UUiios/C185zi0kI/DJLf3dNGQ2ieWjrwOwWbCbNHQtwefPr2pi+41c5txRXlfQBuS4OxpNdF7H9hbxY7PePg49VC/e
cUbxAYHR1+znbiY/BC2zxh8DbJu6xc1aFDefiMU7N8mLjpqQZTcGKP6/mQzvEuaOS9xe+kEKyvWQhKMWFOlEuRv+dtItUCRLePJkt3iHfNVfTFj1U/T3
EUwHC1C33KfEeV6LtPR/M5BjKt9F21AMXv+M7X/0CepY4Q8/ZPzt0LPV4j1RtDip4+ijo8f2vwPTlM6h531il2/8+Z/J5P52yAIN9/28BGObCwa3YGJn
PP6mzuQZt6AcMFyr1Y7V3CPPyEzu8FswE3xZ0OuJvn/S0JLp/qkCOWbMuCegxbi1N3nqHU6L4OHPLyX1OWJJTex16UcpyNdFUqlQbLwYq9hOIdsfhygd
7G4nonTywJLRdkN9D3PwJvU98urI8WMs/USBLD2yuGhF/I+5Y45mk8nRhmIwmdilizsbzl1LHJKe385hc/5pAAAA//8LL8RD
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
