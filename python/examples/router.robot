*** Settings ***
Documentation    A simulated router, tested by netanvil. Takes a second.
Library          netanvil.robot.Keywords

*** Variables ***
&{ROUTER}    sim=router    profile=quick

*** Test Cases ***
Throughput Without Loss
    Run Device Test    &{ROUTER}    test=throughput    sizes=64
    Figure Should Be At Least    throughput    64    90000

Latency Of Large Frames
    Run Device Test    &{ROUTER}    test=throughput,latency    sizes=512
    Figure Should Be At Most    latency    512    50000

No Loss At Half Of The Load
    Send Traffic    sim=router    rate=50kpps    duration=2s
    Loss Should Be At Most    0
