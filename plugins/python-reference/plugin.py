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
eNrMPEtsI8l10/zzkZSo2vlwND9Nz4w9q92d2dHM7o69jm1KokbckUi5SO16N447LbJE9arZze1uzkhOkASxkRg+BIkd2IDPhg/2xTkEQRCfAiPJIQFy
CmAEySEIcklyCeAEuQRB/ZrdZDf1G699IuvVq9+r96tXrxq+l4CrLnGeEefw/sAc9gzr/rMH9zu6ad4bOLZnozlRe4/X3nv2QP1TBVIrummiecjtDF3D
Iq5bURaUu0nsl2ndwNS9XdvpVxILyt089svoPKRdz3ZIJckqeIG2cInnGVbPraQWlLtF7JfRJ2HW6JL+wPaI1TnU9slhJc3azgTAT8kh7aQzdBxarGT4
sLK8/OCD+z3D2xvu3OvY/ftiXa/tDXfuhyng3mdLf3uws5Nh/x7CX1+JItPA1K1YMs1Ppav6bQVyq6RjuIZtodcgRftiRCwsXbo30dm9LVO31s9hhobO
Q8rdNwacrhRKS+jTkDPJrqfZQ6+SXEjeLSzdiOpouGMa7l7NcWwHZ2mD5tBbzkPWHnodu0/UP0tBio5GSUms7sA2LI9NLI/9MroImT7x9uyu2FtRQghS
A93bExvL/qPHkP5oSJzDSopNSo1Z3b0vUKSa5TmHmDdAn4XsHtG7xHEradb2dlzbdY7GW8tGdDY7dpczQhGz/2gNZlzScYinya6zsbRqMUTeNy65gZKL
HkPWHXY6lPVzbNeuR3XAMfDQJFiiowUodBzSJZZn6KZbyS8k7+ZxEIReo/JBBm4F2NSi+KHlkQHmWKgMyaFjVgqM5vTv/GOAETVpPRUYvof0LxXAZ7o5
JGL3eOHTicfK/KehGKTlSdqqP8lAis6L0t3S+0S0Yv9D3JSI5aZkJDelAtwkFpv2Fzvir0wsf9FZTeevbCx/sbbT+SsX4K8rkKcyqrGK/IJyN8cUn7VM
KxGkdg3TZPuax+w/eh1STEkW2AyuRsxgzXb6awYxu5hhUvYY6I7nVoqx7LGlOx7mWHTQ3leMQaXEJsP+R0jBzKmkYIyXZyd5OSAn5ZPJySuQ8vR9UpmL
XWVb3yeYIaF7lCY94lYQG6QSSZMecTFHQ7eg5JChSzSXdGyr61ZeWlDulnCRAVsc9gsSoz9UIEVXFilGN6H4oWtbGhMc4ojWBQrb4iB0DaCvH2gmsXpC
E5dwvq8fbDAAFUR74Bm2pZtMsHLYL1NB5PvL5CuHRUl9A/I+E0ZOK3I16vcUSFFOjFMIu4ZJGFwoBFmmq+zYlkcsT/MOB9JPKAhY+3DAiOORA0/qBvof
VSArUNj8i1gWw1KZCUulakGa8Qa6AzOdoePajk9ePuESh0oC09lxNK53xB5wGGMYOh7dA86SfAtyff2ADaN+AMWgTFGqcykUw4lSYDeEkeUlSjmP9Kk3
JSnjl9U/VqAQkCbmVHm6N3QJddGSd9PYLx+Hl24AK2rkoyGVbz4aUFCNQSjJdg1LNzV/lBQbpcSgLQFUv5OAHCbuwLZcwtbFKth601iU0PJIHSeYzN+N
kGLZyxEqORlQyQhS1FBKVqH/0RuQJbpjGsQRrsWVKWNhiUv5nO8ptTVFoUzOKu3lOqX1wCEeJh8NietR1UddxSn+IPW/MUNCb0HOERNl3R+xFh+Z7oPe
oZIvzS4vqf+hwIxwE5vcKURvUI+E8hud0UykmRCodMsJ5thUIPvEdfWeXLgsorcgQ6gL6h7XVRXo6CrkHbJLqEdPxI6OAGgJLpCDgeEQV9N3PeL46j3N
ZPAlUVmldULLqz9UoBgcitKFWi9P7qAooQuQcciuZkinN+2Q3TrThx27K0WR/Q8uPBVe+GfpKecZcWj3aUbMKIdlzbC6htVrCUzst1n8lgLFIKnRNbjc
3G6vNDdrWqtdbde07UZrq7ZSX6vXVsvn0EVA4erVZqNWVlAFzofha9X6Rm21nECX4UK4ZqvWWK03npST6BK8FK7CtTZ+v5xa7MPs2JTRAlxdq7OGWqv2
bg3X2++PTW0eLk5g1DBu4rKCrkJlou69Km7QeSTOcpL72xTcmDyYicPPiQ5zo9Of+hcJmMVkYDse6UqRCTGqMsmoqX3D4pw0E+kTiX6eGlYXM1y0AEV2
UtYEFwptzGCYseIizMlDtsZRja5gwFlZ0aLwenck0unTinQmTqSzJxLpxd+GQmCxdOslkz2tN1bHmOYCzIVqN2uN7bISlAIGbrWbuKZVV9r1ZqOcmOiz
3q5tytrkWdjpz2/DtQh2crrEOWVkYP4o9jyCF38Tym1Ht1zqDpzKnrwNWYe3E+bkZgR+3dqxh1ZXDIBlC/WfEjATrqP6kbG6cP4YKy/LMxs39K8eOULE
6W195C5wG3Lv6F6mOw2pgNNwAwoO6RDjGelqOvcnkxgkqOr9gg4H301CQW6vYVvoIaQZs4mtjbL8DfK8SVHWz2GOi+Yha/Qs2yFdP4QkAagGxY5udYjJ
B2BKJlqWVwJo6+dwqBn6HOQoM+3onX1G1mguqjKHY0Ugrp/DfiP0OqR3idfZY1om+kC3RuvpqhgiPc0LOalkWRs10g0KaWm6cnvk4zhkYHKzHL1kn5sG
5iHm2Mt5qhB1y7B66q9Dms2Jytsx4nkimhdU2mx/Rh6Gr7TZBta76o8VuORLNxuLdD92IQ95nMkTeJxqGWbCW67+iwLFIFXHDgcl/3CwNn44ePWI/TnB
AUGFkiS81tedfWEyCzan+qbu7J9JaDEUg8ISveNK5I5TejhEd21LHgJ5Sf2fDOSkZJ+ow3EvInE8LyIZ7UVcA+ADsnO68McZhJ3Sb0GpS0yDbhPH4HG7
ogQyJBVKhqvtDM19PnlxQC8Y7vLQ3OcrfAtynaHr2X3iCOmOYrkVgYJ9ZLQEacMjfbeSi42vccp4pI85KnoM2c6e7tBzXp61uh7Xqtq3h5aHJTp6BGlP
PyAycntUO46MPgP5ruF2KMgVccCjWo4aoEeQHeiHfWJ5IiA4Hxn8YhhYolK+6tjDgW2xuGAeixJSoWhYrucMmZy6lRm+YUEYegXm/F3t6h7xjD6pzDIL
WZYVqwKO7sAM5xB3uOPZnm6yOGAec5FrCSDlFPZHk5Sf4wMz4Iog7w0ocCROZMRZl4HajJLzkJOEYRG9PPbLtLFgVTaL87wx51U2hTswM9AP9R2TaDqj
cuUCn6mActKrv6NATjJaXDBssGdbviJgBQolfd0w5aUXK9DN07tdh7iuMJNRm1flGFiiqv+gQFYA6anUNCyiPRBzSNPSAx+8JGdBS0uUQKZudZmWE7Ej
WWYHWXosFXES+h/dhKI73NFMu6Ob8siaxwV3uLMhQFQTDgxLnAboXz6IZ3jDLjfFbBBepsci07Z6vDLH9YUPUP9GgbwvjoEDtxI8cM9D7qOhzk/oCX7t
KMuM9o7R8a8WWYFCPcMzpYLihQlWT0ew+mPI8uioK64XYgWzydCwRFdNKATgP+e1qLoYjfPoCEkJLjjSQtFtd0ahRPbfj2mkRjEN9X3Ibo2UB1+mjJDw
EosocckRxoqX0HUouM4zR/Ocg5EtyVNQ2zmod9WvJSDN9fxlyIUMWBJnhRU+iZ/0go/KYSOXPtLIZY5j5LITRk793QSgamffsp+bpNs73entnjwQJGL9
ZjbY6CyQ0zsdMvAIp1IO++WA75EK+h4smu6Qgcb0Pj8Z5SigTfU9OzhRNI1xEKcFcNCK3SWUmp093erxg1WWNc8LSNVTfy8BiM2QB48/FiKMnE4RCRVO
Z3wYL7yI9NgiqNpkFOob1tBj4WKKUKCwTQ4ap1N2nE7qfyswS9Wg22y2PhYqLECR+j9CZvipOo+BwpjMuOg2zHBJ93FSDKfIoQLrGoBumvZzjXQNeZOU
Z5Ba1/D4wvkpjNIuI0/WHFT11B8EFv5zC0A/govSR9T6urtPupo17O8QR7DAeVm7ySobrE7aupRv684SO/p6Fq5PhnJ4EP60waPpwagjQke/n4ASP599
XFIXdf/Ar/b6g9HVXn+APgHF50R3DKvHdotz1fo5XBBQuktfV5SR75UJ+l7XAQa6o/eJx+/66dEvAFmehZIW7F79mgIV/1ZGHlY//mjaD/0N+bnJAbvz
FHLAKZeUd54cusUoONqrVGivIo1yOtooRyRxZSKTuPxITPZEkZgziOJ/puB2hCg+0w1T3zGom3vaPK+/VAAxP+IMgvVij+wIUvaAWOLyn/0/wpyp30rA
HNXIvzRruAp5sTnCEaYWRgImDFn6GIYsE23IpngqZ+G3f0/DlUm2+fC5F591+d0kFN9xbes9stO294kVSA9QQukBNSjuk0ONWB27a1g9ccUUFQwNdveU
HOLCPjmsiWboM5DpmLrRl9H120d0sEKRsWiDmiGNyzP/7h/Rw70tvwUP2gW6QC9D2TR2WUhh7FJ3VsLFhW4gnyITyqcI5k1kw3kT878Cs2OjnyjCZ8Pc
BC2OnygT2MpkaCsrkBUpsNL/FMXFAcyO7R5S4fo7rWZDe6+2rLWbT2sN7Wkt4so1AgdX3+NXaBF1y9VW7c1HZ7tz/dHLcGuS27vE7TjGYLq3M01K1DmY
XWWd7MizkvqPKSisjjpGM5Dwj9wJo0sp+ow4ruHHU2WRJSzTXju2KTN2ZJm6813DHZj6ocZ2VMSHBaxBN1aFYkcfcGNhEKlzQjC0DPDM7ug7Q1Ofmq74
ro/0xLGHAxxohR5DVhfximxsQEL4DLu7xMESnZpfmU+tuZ090tdF4uKMBLcYFH0K8jI1UwZAo4KtNYGDR9joIWVYyroyAno5NqEQS0z0CLIGN+ci+Dk/
xeBLVPQAMqbRN1gapBIz0gZDwAIRfS6crVhig12Lsls+ViiZUf2WArNjm0Mlukf/yFALK6BLkLUtjVocxmc5nLEtFtO6Annb0kT0RBy4bUsEiR5Bap8c
Sn25MJU1qMJm2OpXFSiF4JGa53VIOUOTCHMQFQd/l+oiloPJMKmssFMbiwxQbpZF2v/QMvzkO/pf/b4ChQDfxWk/HpZKBMNSN6Cwc6j514WcKLBzKP1u
9ArMjSyB5F1+WVseVQjuvQEFl1hdVyPPZCJgDgMD1ShE/WcFcpJ3I2e5AIWAbpJpcQEQXcee7XryiMwLLBmWOJ6xa3SoiRFKIgCiIhgoBp8xBMB0A98G
cCgGY1xxBRq1ZVj3CGNynHfkX7ULeR9O1Zo4TcgbNb/MAt7EMeyub1ETDKPEodKenof0ztBxPaEWeUH9VchwQT4lDa9AfkAcbfQQJIdzA+IwD0/9XwVg
JISnHOEhZGx96O0tiUvKKA3RrFKE9XNYoKIVyLtGz9K9oUNESP5W5OUmo2FLoq6fw6N26CEkP3zuTblIDtru9XOYYi9neJ6E+u0UZPi00EOqW3Tx/mIm
UlWxLp5QJMxxp2baR73PuAJ5j3aiDR1TMG2OAbYdk1Z2TINY3uhcl+OAehfdgpKoFN6LCHxyoOCOJsxQytKd7PCUgixbzCej9C5rWA2h47Hm7PVQxx7I
2wNe4Anduw5x9zQ2eZZ7n8dFAeQucz3klXIL9XIsV0z1R0dOZiHWySy+WCfzZwkoj/Nd7ClgBfK62bMdw9vrC51/J8oWy46qEhmP2qHPU1YSx4gk6+P2
tD7k2QH7rULkSIXJESBhOkRCnwKZoI/8MpSpk+96en8gXi0IL37Wh4uE6s0gKj026h5jluhTUFuirjHMQHccoP5RBrLC/YhMZnobsoOhM7BdaVynhHi2
OCKWLdBjyDCDRgSBF+LbMgNHsMAPkC8VkzaeDnHERcgMHLJrHMhjES+hzwY2ORtLJTGHiC2O2phc9Ma8AnOebRJHtzqjU1yeWZWyXyHNTvAqCLivLq+C
zsv0MS57IiGMWn6jZ5Guxl4GFEWEgYHa5MCj5nc0U94Bv/ye8cE8fb8RwUAzjDS34knj89EEB9Hzg2XTNQvyzHJjxWCCNJ+AWT8HRWAF78nrXYH3BqS5
fps7KjbGVB7m2Mzz8O2pNtAdT9yez4zA7KnGHRgRg+Pxe/SSD6Vo6k9GeTtctU57LSitTiJgdS5CxnDdoR9vFyU6Pv+nhU++JQ5tcSC7thp2DZZcK8yS
LFOGlP/9TjjLz0q46EZdhgw/I7AXG6RvO4daf0c6ShywuUMrDUvbNY3enid8pJxhrbHyogd533OmB+x3qxvbNQ1vb4ynYl+BS4G699abGzWtsb25XMNl
BV2AuUBls1HTmmvlBLoELwXA1cb7Wrv2xXY5uWgCjEw/7Zof2Z/gaqM9Nq4K14OVKxv1Gv3BtdVao12vbrT44T+Ig2truNZa53GAcmLxt+B8lG1Gd+Cm
6K663V6n3a1U2/VmY2wGN+BKNNpytVVfKSvoOszHIDRX3y8nFr+vAJo0VegW3GjVnzSq7W1c06obT5q43l7fHBv8JlyLQlrfrK5orfXqg7IS149EWXrj
zXLiKKQ3HiyVk4sOzE2YQ7oBo5a1xkqT5bVPRGYicNZrX+SbE1EnIzOL31RgdsyIoQW42q5v1lrt6uaWttbEm9VxrrgKlQmMVm2l2Vil/HATrk3UbtY3
NuoSJRHZAV5befjw4afKycWvKn4isLB5lAvqjeXmdmNV29rGW83WuIBchgvjCE28ysRjHi6OV/nJ3RHNNutfrK2Wk4s/U6AUsp6U0yRya2W9tjllDqK+
9oVtLiOTVcu1Kq7hciKi1yDvJFEFzo83ZZyfolSMafmgnJ7SL2W3DLoIaKz+nffa5ezid9irorBZonsqkUcbF179Nbg8iTLiChWuT1aPsUVkFyO++BBm
x1wJyquyRYxwBMg3JhpX4NJEzYsIWf5fKupudo/oprd32qugz0F5xbZ2jd7QOVVuh/oU5gIdiFdcb7K45Y5J+vyFX0z+H0fBPq76FmQF0LfPSsA+x94Y
qucBreyRzv46I4YMvA4hwwHoUfiKMio+yTGPeUMZMr7JsPFVZ6C46uiGvJNSZ6Ekypw8i78BhcBoVNzWa9WN9nrkY6kKnA/Vtmr43XrjCZf9UM1q7Qmu
rsr3UuEqXK2zd0pneljyzZtRX5zoE2t42tSA6Xf/ewAs52Jlb2jtn+xq7zWZYpuIfakdyK5Vn0BJvBUTg70JuV0BmMLBog32cdU/UCAroHHpdSgQ9MyP
wpqS05Lxb/NSJ3+bp/5JEvKbxBqegob35CdR4nMnWGRMfizlbYCO7hHqCBF5QxeZEc2RDnEAfbRhqeNsGFqBkrgsZbFt+TGOyExIhsdvLcRdKiuwm4Fw
IuXl2OZ+DiV6VaZT86uOi5HfADiQadQPR2nbudgheCqxn7GtfglKmFhd4pAu37a3INcV32WZ8qhGfroF+8j+y4LE6GWB+tMUpNm+xTFo5KV3IvbinkVB
k4EoaFTObmWUU8yPRrLIAna25ekdTwtmyRQFkKd6nDp7VyaJPCPiwxeiRA9k7BBrWD2NWPqOSfiJPodnJbzGwaHv9xTC3++hR+S+YYk0Ex4h4mf8Ut+w
WJIJO4dJvIHR2R+KJMUSu7uneFsMyjIVF2GO4o1yNynmDMOkHazK9E2K+xCyntFnKmo2lrfaDANLTPR5KHqjt1pupRz7BIElUzf0PsGhFix8ZvTJV+he
zYnwmSirdcjwAVEZkl3dDyJ29UP2BRnT9qap5JZpe5hjqZ+HFC2iawCupzseJ4V4tMogjAiX2RmfVwojTbiDqf4a5P01iCTz3pCqWMVPMmdln4kT8aH8
5EQoX/1BAnJSlU3R9SfvmS3ZdjyRlJviOR4UwvORL0HW6Pe00SdnMka/t+2YSIXSQHeI5cmEFi5KBQ7kGS3j+5898f4H2C53XLZTv5aG1LT8+ehbuKNJ
5eejp4L56Deh2NcdKmm8UrwQ4LAthnIRMs8Jc99E5JGXeKTSeUZckVsjStTj27XtLk+mzolvg9h2lyVShzcsP75hC+zdpt3vU6Uu1UwQxJQgUyke1bid
faZnkrgogC0KQ6/A3O7Q3DVMs08R+3aX8O/t5HE5ULFJ4UEmKYWYBEHK03v84zp5zP5PMMXsiZniHSjvk0OuAaVJLsfeGD8lh0wtcqM8sx8suugulIVj
cOinQs2x2c5IuEiGug/ng16Aj40Y9lzA2PMG6h6UQmPH3JRXYWa0mq7u6UJnXZmyFlyUy1jVPV1dgpysOe6FivpvCSgEvJUXLSt3YIbaFpeYpOP5WWrc
BLV8IEPTD4JoaYGmHwTQluBCf2h6hsgbcH0ryl/KvcQq+WpcaUnDcpIdl5M7MCNTWgzLNCwuaDlcEtA6A05wa/6k3Kr+NAmZ6W9gXqw+GikbTkqpbEJK
JTNVqWSPUCq5SaUSUAH5kAoYJyC8EHEvnFLc78CsPfC0njOS36Kf+PjEEaJLPSiLuB7pagKbJ8vkcYmDmwzZVXuQbOsH/mshJfAFlOhN9WUxGbzaG8/X
TI3na6o/ViDDPfczD3YLSvpgYBod9tDPT2gujoBNK1r9p2PU//j0MxPT/4YCpW3LNFzvF587e6a01VTU1y4c4wxfu5j+YEH9mQIIG78cr4GuAbClBnMA
8wzCvN5XAfFqdrSSr0m4O1RmNex8JV6ShHOLM+MZ13+lwHm2bqoVPrYXGcGjX3La0S81fvS7BFmXEGuUPZ6hxbMlSf8riorBiqnHstsRT2rmj5XnP3+c
fNX5IyLE81MDeGd6qjM/XQyX/i4BmS1WgxqQk0mySI2MZIQyaOevx+Jwq/su5P0gNIq6Dh+Pcc/fno4k4thNKATCyuhOZOxmPOw8fzk2uozegTQLBaOo
O/Jg0Hh+IR6BT27p7xOQ2iTWEH0BgM2CxUrRtZjIGQ9sRvYbCn3eVV5X0AZkeAQKRXkFfjwxsrdQ6Ir19kHgc3Lia0soOmkh/M25+Zvxn2uSj4+eAmyZ
usUtGYqaT8jIzU8LnC19IwHFakDwUBPytHceLrsTFwANPUGZOgJq8A75Vt2O2aoT9Pc+zPpUq1ruc+K8KMou/VcKMkwTu2gL8v4XXiL7H/+6U6TEBr8R
9OXAF6HEN2PQ4rSOwx+WObL/bZildA68XI7cvsmXzdPJ/WU4PyJ3oO8Xxc1bnJu5YxE548lnyNNn3ISiz3DNZitS3Y696J3e4Zdgzl+Z3+ux1j9taMl0
P1Igw3wM9xi0mHTCpk+9zWkh3Rf0ybg+xxyc6Urj2wnIVsV7BqGNeDFSG51Atj8IUNo3SceidPzAktF2An2Pctqn9T324vToMc7gZv1/AAAA//9d/2Np
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
