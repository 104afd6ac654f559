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
eNrMfE1sI8l18PCffCQlqnZ+OJo/Tc+OPavdndmZ2Z+x159tSqJG3BmJcpHa9e7nuNMiS1Kvmt3c7ubMyAmSIDYSw4cgsQMb8NnwwUYA5xDkEJ8CI7kk
QE4BjCABYgS5JLkEcIBckqBeVTW7ySb1N177RNarV3+v3l+9etXwvSRc9pj7hLkHd/rWYNe07zy5e6djWNbtvuv4DpmTtbdF7e0nd7U/S0B62bAsMg/5
7YFn2szzqomFxK0UDcq8rm8Z/o7j9qrJhcStAg3K5CxkPN9xWTWFFaLAW3jM901716umFxK3SjQok0/CrNllvb7jM7tzoO+zg2oG286EwI/YAe+kM3Bd
XqxmxbCqvHT3gzu7pr832L7dcXp35Lpe3Rts34lSwLuDS3+7v72dxX/34a8vxZGpbxn2RDLNT6Wr9u0E5FdYx/RMxyavQpr3hUQs3rtwe6yz25uWYa+d
oYhGzkLa2zf7gq4cykvk05C32I6vOwO/mlpI3SreuxbX0WDbMr29uus6Ls3xBs2Bv1SAnDPwO06PaX+ehjQfjZOS2d2+Y9o+TqxAgzI5D9ke8/ecrtxb
WSIE0n3D35Mbi//JA8h8NGDuQTWNk9ImrO72FzhS3fbdAyoakM9Cbo8ZXeZ61Qy2fXFS2zWBJlqrRnw2205XMEKJ4n+yCjMe67jM11XXuYm0aiGi6JuW
vVDJIw8g5w06Hc76edy1q3EdCAw6sBhV6GQBih2XdZntm4blVQsLqVsFGgaRV7l8sL5XBZxaHD+0fNanAotUIDVwrWoRac7/zj8AGFKT13OBEXvI/3IB
fGJYAyZ3TxQ+nXyQmP80lMK0PE5b7SdZSPN5cbrbRo/JVvg/wk3JidyUiuWmdIib5GIzwWKH/JWdyF98VtP5KzeRv7DtdP7Kh/jrEhS4jOpYUVhI3Mqj
4rOXeCWB9I5pWbivBYr/yWuQRiVZxBlcjpnBquP2Vk1mdSlicvboG67vVUsT2WPTcH0qsPigu18x+9UyTgb/x0jBzImkYISXZ8d5OSQnlePJycuQ9o19
Vp2buMq2sc8oIpHbnCa7zKsSHKQaS5Nd5lGBRm5A2WUDj+ke6zh216u+sJC4VaYlBLYE7JckRn+YgDRfWawYXYfSh55j6yg4zJWtixy2KUDkCkDPeKZb
zN6VmrhMCz3j2WMEcEF0+r7p2IaFgpWnQZkLothflK88lSXtDSgETBg7rdjVaN9LQJpz4iSFsGNaDOFSIagyX2XHsX1m+7p/0Fd+QlHC2gd9JI7PnvlK
N/D/pAo5iYLzL1FVjEplNiqVmg0Z5A1yE2Y6A9dz3IC8YsJlAVUE5rMTaELvyD0QMGQYPh7fA8GSYgvyPeMZDqN9AKWwTHGqCymUw8lSaDekkRUlTjmf
9bg3pSgTlLU/TkAxJE3oVPmGP/AYd9FStzI0KB+Fl64BFnX20YDLtxgNOKiOEE6yHdM2LD0YJY2jlBHakkDtO0nIU+b1HdtjuC6swPVmqCyRpaE6TqLM
34qRYtXLISo5FVLJBNLcUCpW4f/JG5BjhmuZzJWuxaUpY1GFy/lc7Cm3NSWpTE4r7ZUGp3XfZT5lHw2Y53PVx13FKf4g978pIpG3IO/KiWL3h6wlQOb7
YHS45CuzK0ravydgRrqJTeEUkje4R8L5jc9oJtZMSFS+5YwKbC6QPeZ5xq5auCqStyDLuAvqHdVVlejkMhRctsO4R8/kjg4B5B6cY8/6pss83djxmRuo
9wzK4AuyssbrpJbXfpiAUngoThduvXy1g7JEzkHWZTu6qZzejMt2GqgPO05XiSL+Dy88HV34Z/kp5wlzefcZJGacw7Jq2l3T3m1JTBq0WfxWAkphUpMr
cLG51V5urtf1VrvWrutbG63N+nJjtVFfqZwh54FEq1eaG/VKglThbBS+Wms8rq9UkuQinIvWbNY3VhobDyspcgFeiFbRepu+X0kv9mB2ZMpkAS6vNrCh
3qq/W6eN9vsjU5uH82MYdUqbtJIgl6E6VvdejW7weSRPc5L7mzRcGz+YycPPsQ5zw9Of9hdJmKWs77g+6yqRiTBqYpxR0/umLThpJtYnkv08Mu0uRVyy
ACU8KeuSC6U2RhhFVlyEOXXI1gWq2ZUMOKsqWhze6A5FOnNSkc5OEuncsUR68behGFos33rFZI8aGysjTHMO5iK16/WNrUoiLAUIbrWbtK7XltuN5kYl
OdZno11fV7Wp07DT/96EKzHs5HaZe8LIwPxh7HkIL/4mVNquYXvcHTiRPXkbcq5oJ83J9Rj8hr3tDOyuHICqFto/JmEmWsf1I7K6dP6QlZfUmU0Y+lcO
HSHm9LY2dBeEDbl9eC/TnYZ0yGm4BkWXdZj5hHV1Q/iTKQoKVPN/SYeD76agqLbXdGxyHzLIbHJr4yz/Bnva5ChrZ6jAJfOQM3dtx2XdIISkAKQOpY5h
d5glBkAlEy/LyyG0tTM00ox8DvKcmbaNzj6SNZ6LauhwLEvEtTM0aEReg8wO8zt7qGXiD3SrvJ6vChH5aV7KSTWHbbRYNyiipfnKnaGP47K+Jcxy/JID
bupbB1RgLxW4QjRs097Vfh0yOCcub0eI58loXlhp4/4MPYxAaeMGNrrajxNwIZBuHIt1P3Yhj3icqWN4nFoFZqJbrv0sAaUwVUcOB+XgcLA6ejh45ZD9
OcYBQYOyIrzeM9x9aTKLjqD6uuHun0poKZTCwhK/44nYHef0cJnhObY6BIqS9rMc5JVkH6vDUS8ieTQvIhXvRVwBEAPiOV364wjBU/oNKHeZZfJtEhgi
bldSQETSoGx6+vbA2heTlwf0ouktDax9scK3IN8ZeL7TY66U7jiWW5YoNEAm9yBj+qznVfMT42uCMj7rUYFKHkCus2e4/JxXwFZXJ7Wq9ZyB7VOFTl6H
jG88Yypye1g7gUw+A4Wu6XU4yJNxwMNaDhuQ1yHXNw56zPZlQHA+NviFGFShcr7qOIO+Y2NcsEBliWhQMm3Pdwcop151RmxYGEZehrlgV7uGz3yzx6qz
aCErqmJFwslNmBEc4g22fcc3LIwDFqgQuZYEck7BP7qi/JwYGIHLkrzXoCiQBJGJYF0EtZGS85BXhMGIXoEGZd5YsirO4qxoLHgVp3ATZvrGgbFtMd1A
KlfPiZlKqCA9Z/mu6fUt44DLxXnB8hLS6PJh+i7rGy7Tdxy3ekE4DhK06rjkCuQ6A9/i3k+VMzq3QRLw9URiCSCvy6L2OwnIK56eFHfr7zl2oHOwwKGs
Z5iWul/DAucTo9t1medJixzHJzWBQRWq9vcJyEkgPwBbps30u3IOGV66G4DvqVnw0j2+F5Zhd1GhyjCVKuOZmZ+AZUiG/yfXoeQNtnXL6RiWOh0XaNEb
bD+WIK50+6YtDx78rxjEN/1BV1h9HESU+QnMcuxdUZkX+xQAtH9OQCGQ/NDZPhE+289D/qOBIYIBSXHDqcpIe9fsBLeYWOBQ3/QtpQtFYUyqMjFS9QBy
IhDryZuMiTqgiWhUoZMLkMMNMLuSBrgfja72Jwkohlr8olcZmkcmPA9yCbKc+20fty6zdobKMmf4AuR0UdIMOV0pacEoifAosXaWc5Q7DIji/yAykx5G
ZrT3Ibc5VIGCgirOI0oYFxPyL02uKJGrUPTcJ67uu8+GFrHAQW33WaOrfS0JGWGtLkI+YoZTNCd9ieN4e8/5wB811ZlDTXX2KKY6N2aqtd9NAql19m3n
qcW6uyc7g95Wx5rkRO8fBxueaPJGp8P6PhNUytOgHPKg0mEPCu8EXNbX0XqJ812eA9rcauHxj6PpyEGCFiBAy06XcWp29gx7VxwPc9i8ICE1X/u9JBCc
oQiBfyxEGLrOMp4rXefJwcjoIjIji+AaGSnUM+2Bj0FvjoDmbV2ARumUG6WT9l8JmOUa1ms2Wx8LFRagxL04KTMiNlCgwGEoMx55EWaEpAc4acQpCajE
ugJgWJbzVGddU92HFRBS75q+WLg4S3LaZVV8QIBqvvaD0MJ/YWH01+G88nT1nuHts65uD3rbzJUscFbVrmPlBtYpM5oOzOhpImBfz8HV8YCUuEo4aQhs
ekjtkADY7yehLE6ZH5fUxd2iiAvKXn94Qdnrk09A6SkzXNPexd0SXLV2hhYllO/S1xOJoVuXDbt1VwH6hmv0mC8yFvgBNgRZmoWyHu5e+1oCqsHdkjpy
f/wxwR8GG/ILkwO8uZVyICiXUje3ArqJFBzuVTqyV7FGORNvlGNS0bKxqWhBPCl3rHjSKUTxP9LwYowoPjFMy9g2uQd90my1v0wAQT/iFIL1fAMPBNJO
n9kyhQH/H2LOtG8lYY5r5F+ZNVyGgtwc6UlzC6MAY4YscwRDlo03ZFM8ldPw279l4NI423z41J+cO/rdFJTe8Rz7PbbddvaZHUpySESSHOpQ2mcHOrM7
Tte0d+VFWVxIN9zdI3ZAi/vsoC6bkc9AtmMZZk/dEbx4SAfLHJnKNqQZ0bgif/HOIT3c3gxaiNBjqAvyElQscwcDIyNX07MKLq+lQ1kh2UhWSDj7IxfN
/pj/fzA7Mvqx4pQOzI3R4ujpPqGtTEW2sgo5mcir/E9ZXOzD7MjuEQ2uvtNqbujv1Zf0dvNRfUN/VI+5OI7BobX3xEVgTN1SrVV/8/XT3Rz/6CW4Mc7t
XeZ1XLM/3duZJiXaHMyuYCfb6qyk/UMaiivDjskMJIMze9Lscoo+Ya5nBlFhVcS0a95rx7FU3pEqc3deBa5wR2WUW8I2+MZqUOoYfWEsTKZ0TgRGlgCe
OB1je2AZU5Mu3w2QHrrOoE9DrcgDyBkyFJKbGOuQPsPODnOpQufmV2WF615nj/UMmX45o8AthJJPQUElmKowblzIuC5x6BCb3OcMy1lXxXEvTkyLpAqT
vA45U5hzGcKdn2LwFSq5C1nL7JmYzJmYMNJjRKASkXwumnNZxsGuxNmtACuSkql9KwGzI5vDJXqX/1GhFiyQC5BzbJ1bHOSzPM06NobLLkHBsXUZPZEH
bseWUabXIb3PDpS+XJjKGlxhI7b21QSUI/BYzfMapN2BxaQ5iIvmv8t1EWaSIiaXFTy1YWSAc7Mq8v4HthmkEPL/2vcTUAzx3STtJ8JSyXBY6hoUtw/0
4NJTEAW2D5TfTV6GuaElULwrrpwrwwrJvdeg6DG76+nsiUpnzFNAUJ1DtH9KQF7xbuwsF6AY0k0quS8E4uvYczxfHZFFAVN6meubO2aHmxipJEIgLoKh
YvgxRgjMN/BtAJdjIOPKi9y4LaOGz5DJacFVf7UuFAI4V2vyNKHuBYMyhu2ZazrdwKImEaMsoMqenoXM9sD1fKkWRUH7/5AVgnxCGl6CQp+5+vA5S57m
+8xFD0/77wTAUAhPOMJ9yDrGwN+7J69a4zREs8YR1s5QiUqWoeCZu7bhD1wmo/03Yq9okYYthbp2hg7bkfuQ+vCpP+U6PGy7185Qjr2UFdke2rfTkBXT
Ive5bjHkK5KZWFWFXTzkSFTgTn0vEPfK5BIUfN6JPnAtybR5BGy5Fq/sWCaz/eG5Li8AjS65AWVZKb0XGfgUQMkdTZjhlOU72RGJETlczCfj9C42rEXQ
6UhzfAPVcfrqYkIURFr6jsu8PR0njy8ICrQkgcJlbkS8UmGhXprIFVP90aGTWZzoZJaer5P58yRURvlu4ilgGQqGteu4pr/Xkzr/ZpwtVh3VFDIdtiOf
56wkjxEp7OPFaX2oswMNWkXIkY6SI0TCTISEAQWyYR/5JahwJ9/zjV5fvr2QXvxsAJdp4ethVH5sNHxklvhTUFuhriJmqDsB0P4oCznpfsSmZL0Nuf7A
7TueMq5TQjybApGqFuQBZNGgMUnghclt0cAxKvFD5EtPSH7PRDjiPGT7Ltsxn6ljkSiRz4Y2OTeRSnIOMVsctzH5+I15GeZ8x2KuYXeGp7gCWpVKUKHM
TvgqCISvrq6CzqokOCF7Mq2NW35z12ZdHd83lGSEAUFt9szn5nc4U9GBuMKfCcDiEcJGDAPNIGluTCZNwEdjHMTPD7bD1yzJMyuMFcIkaT4Bs0EmjcQK
3/Y3uhLvDcgI/TZ3WGwMVR4V2Oh5BPZU7xuuL3MAZoZgfHByE4bEEHgiG6AcQDma9pNh9pFQrdPePCqrkwxZnfOQNT1vEMTbZYmPL/7p0ZNvWUBbAojX
VoOuiSnC0iypMmdI9T/oRLD8rILLbrQlyIozAr47YT3HPdB728pREoD1bV5p2vqOZe7u+dJHypv2KpYXfSgEnjM/YL9be7xV1+nW49GE8ktwIVT33lrz
cV3f2FpfqtNKgpyDuVBlc6OuN1crSXIBXgiBaxvv6+36F9uV1KIFMDT9vGtxZH9IaxvtkXE1uBquXH7cqPMfWl+pb7QbtcctcfgP49D6Kq231kQcoJJc
/C04G2ebyU24LrurbbXXeHfLtXajuTEyg2twKR5tqdZqLFcS5CrMT0BorrxfSS5+PwFk3FSRG3Ct1Xi4UWtv0bpee/ywSRvttfWRwa/DlTiktfXast5a
q92tJCb1o1DuvfFmJXkY0ht371VSiy7MjZlDvgHDlvWN5SZm549FZmJw1upfFJsTU6ciM4vfTMDsiBEjC3C53Vivt9q19U19tUnXa6NccRmqYxit+nJz
Y4Xzw3W4Mla73nj8uKFQkrEd0NXl+/fvf6qSWvxqIkhnljaPc0FjY6m5tbGib27RzWZrVEAuwrlRhCZdQfGYh/OjVUGKekyz9cYX6yuV1OLPE1COWE/O
aQq5tbxWX58yB1lf/8KWkJHxqqV6jdZpJRnTa5h3UqQKZ0ebIuenORUntLxbyUzpl7NblpwHMlL/znvtSm7xO/g2KmqW+J4q5OHGRVd/BS6Oowy5QoOr
49UjbBHbxZAvPoTZEVeC86pqMUE4QuQbEY1LcGGs5nmELP8nHXc3u8cMy9876VXQ56Cy7Ng75u7APVFuh/YI5kIdyLdob2LccttiPfFOcUIWo0ChAa72
FuQkMLDPiZB9nnhjqJ0FsrzHOvtrSAwVeB1AVgDI69Eryrj4pMA84g1lxPimosZXm4HSimuY6k5Km4WyLAvyLP4GFEOjcXFbq9cet9din3xV4WyktlWn
7zY2HgrZj9Ss1B/S2op69RWtorUGvrY61fOYb16P+25Gj9mDk6YGTL/73wPAnIvlvYG9f7yrvVdVonBy4nvzUI6w9hDK8sWbHOxNyO9IwBQOlm1ogKv9
QQJyEjopP4+Egp6FYVhTcVpq8gvD9PFfGGp/moLCOrMHJ6DhbfVhl8m5ExgZU598eRugY/iMO0JM3dDF5nULpAMaQh9uWPooG0aWoSwvSzG2rT4pEptk
iXji1kLepWIBbwaiOZoXJzYfpme+opLCxVXH+dgvGTxTyeD3h8nn+YlDiIToIO9c+xKUKbO7zGVdsW1vQb4rvy4z5WmQ+gANDZCD9xHJ4fsI7adpyOC+
TWLQ2Evv5MSLe4yCpkJR0Lh04OowXVkcjVQRA3aO7RsdXw9nyZQkUKR6nDgxWCWJPGHy8x2yxA9keIg17V2d2ca2xcSJPk9nFbwuwJGvEBWjXyHiR+Se
acs0ExEhEmf8cs+0MckEz2EKr2929gcySbGMd/ccbxOhmKm4CHMcb5i7yTFnEJN3sKLSNznufcj5Zg9V1OxE3mojBlWY5PNQ8ocvzrxqZeJDCszT3jB6
jEZaYPjM7LGv8L2ak+EzWdYakBUDkgqkukYQROwaB/gdHMvxp6nkluX4VGBpn4c0L5IrAJ5vuL4ghXx6ixAkwkU844tKaaSZcDC1X4NCsAaZv7474Co2
EeSvYzlg4uTkUH5qLJSv/SAJeaXKpuj64/eMS3ZcXyblpkWOB4eIfOQLkDN7u/rwwzlZs7e75VpEg7JIvVYJLUKUigIoMlpG9z937P0PsV3+qGynfS0D
6Wmp+fG3cIeTKkhoT4cT2q9DqWe4XNJEpXx8IGCbiHIesk8Zum8y8ihKIlLpPmGezK2RJe7x7ThOVyRT5+UXThyni4nU0Q0rjG7YAr4+dXo9rtSVmgmD
UAmiSvG5xu3so55J0ZIEtjiMvAxzOwNrx7SsHkfsOV0mvhpUoJVQxTqHh5mkHGESAmnf2BWfCCpQ/D/GFLPHZop3oLLPDoQGVCa5MvHG+BE7QLUojPLM
frjokVtQkY7BQZAKNYeznVFwmQx1B86GvYAAmyD2XMjYiwbaHpQjY0+4Ka/BzHA1XcM3pM66NGUttKSWsWL4hnYP8qrmqBcq2r8moRjyVp63rNyEGW5b
PGaxjh9kqQkT1AqAiGY8C6NlJJrxLIR2D871BpZvyrwBL7Ci4r3fC1gpVuMpSxqVk9yonNyEmeAtlm2ZthC0PC2r91gIHOPWwnG5VftpCrLTH9E8X300
VDaClErZRJRKdqpSyR2iVPLjSiWkAgoRFTBKQHgu4l48objfhFmn7+u77lB+S0Hi40NXii73oGzm+ayrS2yRLFOgZQFuIrKn7UKqbTwLXgslQt9xid/U
QBZT4au90XzN9Gi+pvbjBGSF537qwW5A2ej3LbODzxWDhObSENi049V/ZoL6H51+dmz630hAecu2TM//5efOniptNR33zQ7XPMU3O6Y/WNB+ngBCzV+N
10BXAHCp4RzAAkLQ630FiKjGo5V6TSLcoQrW4PlKviSJ5hZnRzOu/yoBZ3HdXCt8bC8ywke/1LSjX3r06HcBch5j9jB7PMuLp0uS/hcSF4OVU5/Iboc8
qZk/Up7//FHyVecPiRDPTw3gneqpzvx0Mbz3t0nIbmIN2YC8SpIlWmwkI5JBO391Io6wuu9CIQhCk7jr8NEY9/yL05FkHLsJxVBYmdyMjd2Mhp3nL06M
LpN3IIOhYBJ3Rx4OGs8vTEYQk7v3d0lIrzN7QL4AgLPAWCm5MiFyJgKbsf1GQp+3Eq8lyGPIiggUifMKgnhibG+R0BX29kHoo3jym1EkPmkh+uW8+euT
PzqlHh89Ati0DFtYMhI3n4iRm58WOLv3jSSUaiHBI00o8N5FuOzmpABo5AnK1BHIhuhQbNWLE7bqGP29D7MB1Wq295S5z4uy9/4zDVnUxB7ZhELwnZrY
/ke/URUrseEvHX059F0r+eUbsjit4+jncQ7tfwtmOZ1DL5djt2/8ZfN0cn8Zzg7JHer7eXHzpuBm4VjEznj8GfL0GTehFDBcs9mKVbcjL3qnd/glmAtW
FvR6pPVPG1ox3Y8SkEUfwzsCLcadsOlTbwtaKPeFfHJSnyMOznSl8e0k5GryPYPURqIYq42OIdsfhCgdmKQjUXrywIrRtkN9D3Pap/U98uL08DFO4Wb9
XwAAAP//BseY5Q==
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
