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
eNrMfE1wG8l1sPAPPAAk2KuVIGolcUeSreXuSitKuyt7/dkGSVDEigToAbjr3c/JZAg0wVkOZrAzA0l0UqlUvJW4fErslF3ls8sH5+IcUrn4lHJSuaQq
uaTipJJDDrmkcnRSuaRS/bp7MAPMgKSoXfsE9OvXf6/fX79+PfCjJLzkUucxdY7uDM1R37DuPL57p6ub5u2hY3s2WRC1t3nt7cd3lT9PQHpNN02yCPm9
kWtY1HWriaXErZTql1nd0NS9fdsZVJNLiVsF1S+T85BxPduh1RRW8AJr4VLPM6y+W00vJW6VVL9MPg/zRo8OhrZHre6RdkiPqhlsOxcAP6JHrJPuyHFY
sZrlw8ry6t0P7/QN72C0d7trD+6Idb1+MNq7E6aAeweX/s5wby+L/+7BX12KItPQ1K1YMi3OpKvy/QTk12nXcA3bIq9DmvWFRCyuXLw91dntHVO3Ns+p
iEbOQ9o9NIacrgzKSuSLkDfpvqfZI6+aWkrdKq5ci+potGca7kHdcWxHzbEGrZG3WoCcPfK69oAqf5GGNBuNkZJavaFtWB5OrKD6ZXIBsgPqHdg9sbei
RAikh7p3IDYW/5MHkPl4RJ2jahonpcSs7vbXGFLd8pwjlTcgX4bcAdV71HGrGWx7I67tJkfjrWUjNps9u8cZoaTif7IBcy7tOtTTZNe5WFq1EZH3rZbd
QMklDyDnjrpdxvp53LWrUR1wDHVkUlWikyUodh3ao5Zn6KZbLSylbhXUIIi8zuSDDt0q4NSi+KHt0aHKsUgFUiPHrBaR5uzv4gOAMTVZPRMYvofsLxPA
x7o5omL3eOGLyQeJxS9CKUjL07RVfp6FNJsXo7ulD6hohf9D3JSM5aZUJDelA9wkFpvxFzvmr2wsf7FZzeavXCx/YdvZ/JUP8NdlKDAZ1bCisJS4lUfF
Z62ySgLpfcM0cV8LKv4nb0AalWQRZ/BSxAw2bGewYVCzpyImY4+h7nhutRTLHju646kciw3a/6YxrJZxMvg/QgrmnkkKJnh5fpqXA3JSOZ2cvAppTz+k
1YXYVXb0Q6oiErnNaNKnbpXgINVImvSpq3I0ch3KDh25VHNp17Z6bvWFpcStslpCYJvDfkVi9EcJSLOVRYrRy1D6yLUtDQWHOqJ1kcF2OIhcARjoTzWT
Wn2hictqYaA/3UIAE0R76Bm2pZsoWHnVLzNB5PuL8pVXRUl5Ewo+E0ZOK3I1yo8SkGacGKcQ9g2TIlwoBFlmq+zalkctT/OOhtJPKApY52iIxPHoU0/q
BvafVCEnUHD+JVUWw1KZDUulYkEGeYPchLnuyHFtxycvn3CZQyWB2ew4Gtc7Yg84DBmGjcf2gLMk34L8QH+KwygfQikoU4zqXArFcKIU2A1hZHmJUc6j
A+ZNScr4ZeVPElAMSBM6VZ7ujVzKXLTUrYzql0/CS9cAixr9eMTkm48GDFRHCCPZvmHppuaPksZRyghtC6DygyTkVeoObculuC6swPVmVFEiq2N1nESZ
vxUhxbKXY1RyKqCSCaSZoZSswv6TNyFHdcc0qCNci8szxlIlLuNzvqfM1pSEMjmrtFcajNZDh3oq/XhEXY+pPuYqzvAHmf+tIhJ5G/KOmCh2f8xafGS2
D3qXSb40u7yk/DABc8JNbHGnkLzJPBLGb2xGc5FmQqCyLacqx2YCOaCuq/flwmWRvA1ZylxQ96SuqkBXDqEUhLNFMFPjSXKLEnkRsg7d1wzpoWYcut9A
5dW1e1Ju8H9wlunQLJe/l4BScF3kClxq7XbWWtt1rd2pderabrO9U19rbDTq65Vz5AKQcPV6q1mvJEgVzofhG7XGVn29kiSX4MVwzU69ud5oPqykyEV4
IVyl1jvqB5X0Wc4x/3gdrkwfS2ynR51nPMgszjwXKb8DlY6jWy5TTs/E3e9AzuHtBHO/HIHfsPbskdUTA6iyhfIvSZgL1zEGODSsnjRF7D9ZlR4kVzuv
HTtChC+5OVZenKNvH9/LbBWWDqiwa1B0aJcaj2lP07l1S6kgQTXvV+Sq/FMSinJ72Tn2HmSQl8TWRumhJn3SYiib51SOSxYhZ/Qt26E9/0ArAaQOpa5u
danJB0CxjVYWawG0zXNqqBn5CuQZM+3p3UMkazQX1VD9rQnEzXOq34i8AZl96nUP0HeIdi83WD1bFSIyjenQocnjFNFT9rlhaB6pHJsdxAdUtwyrr/wW
ZLBPJi8niA6I2MAyLMg4i4b0HavAeVmBG9DoKT9LwEVfOnEs2vvMhTRkv1KnsF9KBebCW6b8WwJKQapOuBpl39XYmHQ1Xjtmf07hbihQloTXBrpzKIxK
0eZU39adwzMJnQqlILNH73gicscZPRyqu7YlXUpeUv47C3kpmafqcAlKGL3TQsYWEKaixQ32xlENec73e2szeKPHji58QPT6Od0KCEGf/zqUe9Q02DZx
DB4FKEkgIilQNlxtb2Qe8skLd79ouKsj85Cv8G3Id0euZw+oU83FstyaQFF9ZLICGcOjA7eajz2tc8p4dKByVHYC7h7oDvMaC9jqalyr2sAeWZ4q0cl9
yHj6UyrjQMe148jkS1DoGW6XgVwRVTiu5bgBuQ+5oX40YGcoHl5YjDxKI4YqURlfde3R0LYwylBQRYkoUDIs13NGKKdudY5vWBBGXoUFf1d7ukc9Y0Cr
82jhKrJiXcDZeYNziDva82xPNzGqUFC5yLUFkHEK/tEk5Rf4wAhcE+S9BkWOxIlMOOsiqIOUXIS8JAzGBwqqX2aNBaviLM7zxpxXcQo3YW6oH+l7JtV0
pHL1RT5TAeWkV34vAXnJaHFH6+GBbfmKAAsMSge6YcoQOhbY5um9nkNdV5i5qM2rcQxVoir/kICcADK32TQsqt0Vc8iw0l0fvCJnwUorjECmbvVQy4mT
qCyjp83ccnHqYv/ZidMd7Wmm3dVNVsflt+iO9rYEiGnCoWGJ2D37ywfxDG/UoyisOAgvk5egYNpWn1fmub7wAcrfJKDgi2PgRJAInggWIf/xSOdHiCS/
xJBlpL1jdP2LCiwwqGd4plRQvDDF6pkIVn8AOR5rcUWwMlYwW4imSnTFhGIA/imvRdHFaJxHx0iJ4IIjLRTbdmccmMD//qErPT50KR9AbmesPPgy5RGO
l/B8yiVHGCteIleh6DqPHc1zno5tSYGBOs7TRk/5JAkZrucvQT5kwFJqTljh0/hJU0YudTIjlz6Jkcsca+SyJzFyuSkjp/x+Ekite2jZT0za6z/b6eu2
dOiTsX4vDjb25fN6t0uHHuVUyqt+OeB7pIO+B8bmHDrUUO/zk02eATpM3+PBh6FpyEGcFsBBa+zwfgWge6BbfX4wymHzgoDUPOUPkkBwhjwU9ZkQYex0
iriKcDpj4wwTi8hMLIKpTaTQwLBGHgafGEKRwbY5aJJOuUk6Kf+VgHmmBt1Wq/2ZUGEJSsz/ETLDT8UFFRgMZcYlN2COS7qPk0acEocKrCsAumnaTzTa
M2RcuoCQes/w+MKHtuNx2mXlyZiDap7yk8DCP7Vw1n24IH1EbaC7h7SnWaPBHnUEC5yXtdtY2cQ6aevSvq07S2jn2zm4Oh2K4SG9Z43tzI4VHRP6+cMk
lPn57LOSuqhoJr8oGAzHFwWDIfkclJ5Q3TGsPu4W56rNc2pRQNkufTuRGPte2aDvdRVgqDv6gHr85pAd/QKQ1Xkoa8HulU8SUPVjvPKw+tlHw/7U35BP
TQ7wBkXIAadcSt6gcOgOUnC8V+nQXkUa5Uy0UY5ICclGpoT4kZjcqSIxZxDF/0zDjQhRfKwbpr5nMDf3WbNG/jIBBP2IMwjW8z2yE0jbQ2qJq0T8f4w5
U76XhAWmkX9t1vASFMTmCEeYWRgJmDJkmRMYsmy0IZvhqZyF3/4jA5en2eajJ158DtcPU1B617Wt9+lexz6kVuCyMRG6bKxD6ZAeadTq2j3D6iOl5yKT
LILdPaJHavGQHtVFM/IlyHZN3RjI6PiNYzpYY8iqaENaIY3L84juHNPD7R2/BQ/aBbogr0DFNPYxpOBnAGQwQjgv4SIJIHA7mw3dzgZvYXPhW9jF/wfz
E6OfKsJnw8IULU5+7R7YylRoK6uQEwl10v8UxeUhzE/sHlHg6rvtVlN7v76qdVqP6k3tUf2DieuuRbgQgaPW3q8kyBW4FFG3WmvX37pfSZ6F23/6Clyf
5vYedbuOMZzt7cySEmUB5texkz15VlL+OQ3F9XHHZA6S/pE7afQYRR9TxzX8eKosYvoj67Vrm/L+X5aZO98z3KGpH2m4oyI+LGBNtrEKlLr6kBsLg0qd
E4KRVYDHdlffG5n6zOSn93ykh449GqqBVuQB5HQRr8jFBiSEz7C/Tx1VojPzK7MzNbd7QAe6SIOak+A2QskXoCATvWQANCrYWhc46hib3GMMy1hXRkAv
xaYnqRKT3Iecwc25CH4uzjD4EpXchaxpDAxMqkrEjLSFCKpAJF8J5z6VcbArUXbLxwqlRinfS8D8xOYwie6zPzLUggVyEXK2pTGLg3yWV7O2hTGty1Cw
LU1ET8SB27ZEkOg+pA/pkdSXSzNZgylsxFa+lYByCB6ped6AtDMyqTAHUXHw95guwowuxGSygqc2jAwwbpZF1v/IMvxUHvZf+XECigG+i9N+PCyVDIal
rkFx70jzr/s4UWDvSPrd5FVYGFsCybv8srUyrhDcew2KLrV6rkYfy7SivAoIqjOI8q8JyEvejZzlEhQDukkm2QRAbB0HtuvJIzIvYGoddTxj3+gyEyOU
RADERDBQDCZFB8BsA98BcBgGMq64wozaMlX3KDK5WnDkX6UHBR/O1Jo4TcgbNb+MAW/qGHbPt6hJxChzqLSn5yGzN3JcT6hFXlD+P2S5ID8jDS9DYUgd
bZxWnlfzQ+qgh6f8TwJgLITPOMI9yNr6yDtYEZeUURqiVWMIm+dUgUrWoOAafUv3Rg4VIfnrkZebSMO2RN08p47bkXuQ+uiJN+MiOWi7N8+pDHs1y/Mc
lO+nIcunRe4x3aKLbO65SFWFXTxkSCrHnZm3G5XtfRkKHutEGzmmYNo8AnYdk1V2TYNa3vhcl+eARo9ch7KoFN6LCHxyoOCOFswxyrKd7PKUgBwu5vNR
ehcb1kLo6kRzfIvQtYfy9oAXeHrovkPdAw0nj5m8BbUkgNxlboS8Um6hXonlipn+6NjJLMY6maXn62T+MgmVSb6LPQWsQUE3+7ZjeAcDofNvRtli2VFN
IqvjduSrjJXEMSKFfdyY1Yc8O6h+qxA50mFyBEiYCZHQp0A26CO/AhXm5LuePhiKHGjhxc/7cJGeuR1EZcdG3UNmiT4FdSTqBmIGuuMA5Y+zkBPuR2Qy
0juQG46coe1K4zojxLPDEVXZgjyALBo0Kgi8FN8WDRxVBX6AfOmYJNRMiCMuQHbo0H3jqTwW8RL5cmCTc7FUEnOI2OKojclHb8yrsODZJnV0qzs+xRXQ
qlT8Cml2gldBwH11eRV0XqZ/cdkTCV3M8ht9i/Y0zDMuiQgDgjr0qcfM73imvAN++T3ng3kycDOCgeaQNNfjSePz0RQHsfODZbM1C/LMc2OFMEGaz8G8
n4MisIL35I2ewHsTMly/LRwXG0OVp3Js9Dx8e6oNdccTt+dzYzAmft+EMTE4Hr9HL/tQhqb8fJy3w1XrrLdH0uokA1bnAmQN1x358XZRYuPzf1r45Fvm
0DYH4rXVqGdQqysv5PwyY0j53++Es/y8hItulFXI8jMC5n/Tge0caYM96ShxwPYeqzQsbd80+gee8JHyhrWB5WUPCr7nzA7Y79W2duuaurs1mWt6GS4G
6t7fbG3Vtebu9mpdrSTIi7AQqGw161pro5IkF+GFALjW/EDr1L/eqaSWTYCx6Wdd8yP7Q7XW7EyMq8DVYOXaVqPOftT6er3ZadS22vzwH8RR6xtqvb3J
4wCV5PLvwvko20xuwsuiu9puZ5N1t1brNFrNiRlcg8vRaKu1dmOtkiBXYTEGobX+QSW5/OMEkGlTRa7DtXbjYbPW2VXrWm3rYUttdDa3JwZ/Ga5EIW1u
19a09mbtbiUR149EWXnzrUryOKQ3765UUssOLEyZQ7YB45b15lprvdF8OB2ZicDZrH+db05EnYzMLH83AfMTRowswUudxna93alt72gbLXW7NskVL0F1
CqNdX2s11xk/vAxXpmq3G1tbDYmSjOxA3Vi7d+/eFyqp5W8l/EReYfMYFzSaq63d5rq2s6vutNqTAnIJXpxEaKnrKB6LcGGyqrbGOIRnZE/WbTe+Xl+v
pJZ/mYByyHoyTpPI7bXN+vaMOYj6+td2uYxMV63Wa2pdrSQjeg3yTopU4fxkU+T8NKNiTMu7lcyMfhm7ZckFIBP1777fqeSWf4BvFMJmie2pRB5vXHj1
V+DSNMqYKxS4Ol09wRaRXYz54iOYn3AlGK/KFjHCESDfhGhchotTNc8jZPm/6ai72QOqm97Bs14FfQUqa7a1b/RHzjPldiiPYCHQgXgT8hbGLfdMOuDv
hWLy/ziK6uMqb0NOAH37nAjY59gbQ+U8kLUD2j3cRGLIwOsIshxA7oevKKPikxzzhDeUIeObChtfZQ5K645uyDspZR7KoszJs/zbUAyMxsRts17b6mxG
vgapwvlQbbuuvtdoPuSyH6pZrz9Ua+vyQUi4Sq01mvgg5CwM+PdLUe/XB9QafTrPPg4AMOdi7WBkHZ7uau91mWKbjH33GciuVR5CecOwmOSLwd6C/L4A
zOBg0Ub1cZUm5AQwLruOBGKehXFUUzJaKszYf5aCwja1Rs9Agtvy+wjxqQ8Y2JJfTngHoKt7lPkxVF6wRSY0c6QjNYA+pnf6JPQma1AWd50YmpYv8yMT
GRGPXzqIq1AsYGA/nAd5Kba5nwJJXpPZ0Pym4kLkg+CnMgv63jjrOh87BM8E9hOulW9AWaVWjzq0x7ftbcj3xEcaZrxpkd9xUH1k/2FAcvwwQPlFGjK4
b3EMFnlnnYy9d8cgZioQxIxKua2OU4L5yUYWMd5mW57e9bRgkktJAHmmxjMn38ocj8dUvIIXJXaewjOoYfU1aul7JuUH8rw6L+F1Dg59zKMY/pgHO+EO
DEtkifAADz+ilweGhTkieIySeEOjezgSOYZlvHpneDsIxUTDZVhgeOPUS4Y5h5isg3WZfclw70HOMwaoYeZjeauDGKrEJF+Fkjd+KuVWK7EvCDAXuqkP
qBpqgdEvY0C/yfZqQUS/RFlpQJYPSCqQ6ul+DLCnH+HnJEzbm6VR26btqRxL+SqkWZFcAXA93fE4KRIiy5ZBkAiX8IjOK4WNpdw/VH4DCv4aRI54f8RU
ZMLPEceyz8TJ+Eh8aioSr/wkCXmpymbo6tP3jEu2HU/k1KZ5igaD8HTii5AzBn1t/P2JrDHo7zomUaA81B1qeTIfhYtSkQN5Qsrk/udOvf8BtsuflO2U
TzKQnpX+Hn2Jdjyp/HTydDCd/GUoDXSHSRqvFAn+HLaDKBcg+4Si9yUCh7zEA43OY+qK1BhRYg7bvm33eC50XnwowLZ7mAcd3rDC5IYt4bNJezBgSl2q
mSAIlSCqFI9p3O4h6pmUWhLANoORV2Fhf2TuG6Y5YIgDu0f5xzcKaiVQsc3gQSYph5iEQNrT+/xLGwUV/08xxfypmeJdqBzSI64BpUmuxF74PqJHqBa5
UZ47DBZdcgsqwjE48jOZFnC2cxIucpnuwPmgF+BjE8ReCBh73kA5gHJo7JiL7hrMjVfT0z1d6KzLM9ailuQy1nVPV1YgL2tOeh+i/HsSigFv5XnLyk2Y
Y7bFpSbten6SGTdBbR+IaPrTIFpGoOlPA2gr8OJgZHqGuPZ3fSvKH7q9gJV8Na60pGE5yU3KyU2YkxkphmUaFhe0vFoW0AYCp7i1cFpuVX6RguzsJyzP
Vx+NlQ0npVQ2IaWSnalUcscolfy0UgmogEJIBUwSEJ6LuBefUdxvwrw99LS+M5bfkp+3+NARoss8KIu6Hu1pApvnuhTUMge3ENlV+pDq6E/9xz6JwBcW
ojfVl8VU8GZuMt0yPZluqfwsAVnuuZ95sOtQ1odD0+jiOz0/H7k0BrasaPWfiVH/k9PPTk3/Owko71qm4Xq/+tTXM2WdpqO+JeEYZ/iWxOz3BsovE0BU
49fjMc8VAFxqMIWvgBD0el8DwqvxaCUfg3B3qII1eL4SD0HCqcHZyYTpv07AeVw30wqf2YOK4NEvNevol548+l2EnEupNU7+zrLi2XKcPyFRIVQx9Vh2
O+ZFzOKJ0vQXT5JuunhMgHdxZvztTC9tFmeL4crfJiG7gzWkCXmZ40qUyEhGKAF28WosDre670HBjyGTqNvsyRD14o3ZSCIM3YJiICpMbkbGbiajxouX
YoPD5F3IYCSXRF1xB2O+i0vxCHxyK3+XhPQ2tUbkawA4Cwx1kisxkTMel4zsNxS5vJV4I0G2IMsjUCTKK/DjiZG9hUJX2NuHgW9Lia8mkeicg/AHqBZf
jv8ck3w79Ahgx9QtbslI1HxCRm5xVuBs5TtJKNUCgkdaUGC983DZzbgAaOgFycwRSJN3yLfqRsxWnaK/D2Dep1rNcp9Q53lRduW7aciiJnbJDhT8D7RE
9j/5caVIiQ1+ouc3Ax9kEp98IcuzOg5/F+bY/ndhntE58PA4cvumHybPJvcO5zZu+CN7nH7lO7vHFpR8hmi12pHqcOLB7OwOvwEL/m77vZ6IJ2YNLZni
pwnIog/gnoAW007S7Kl3OC2ke0E+H9fnhAMyW6i/n4RcTTwXENqCFyO1xSlk78MApX2TcSJKxw8s1dpeoO9xyvisvicedB4/xhncoP8LAAD//+po/7o=
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
