# Makes Measurement Sets with the programs that astronomers use, each in its own way: set-peers-make.py FOLDER. Runs in a Python
# with casatools, casatasks, pyuvdata, simms and dp3. DATA are a source of 2 Jy at the phase centre seen through known gains.
import os, subprocess, sys
import numpy as np
os.chdir(sys.argv[1])
os.environ["OPENBLAS_NUM_THREADS"] = "1"
bin = os.path.dirname(sys.executable)


def call(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{words[0]}: {done.stdout[-500:]}{done.stderr[-500:]}")


# casatools wants its data, which a package brings, and no network.
import casadata
os.makedirs("home/.casa")
with open("home/.casa/config.py", "w") as config:
    config.write(f"measurespath={casadata.datapath!r}\nmeasures_auto_update=data_auto_update=False\nskipnetworkcheck=nologfile=True\n")

casa = '''
import casatools, numpy as np
from casatasks import split, mstransform, concat, virtualconcat, flagdata, clearcal, phaseshift, exportuvfits, importuvfits
sm, me = casatools.simulator(), casatools.measures()
sm.open("casa.ms")
random = np.random.default_rng(1)
x, y, z = (random.normal(size=7) * scale for scale in (300, 300, 3))
sm.setconfig(telescopename="MeerKAT", x=x.tolist(), y=y.tolist(), z=z.tolist(), dishdiameter=[13.5] * 7, mount=["alt-az"] * 7,
             antname=[f"m{i:02}" for i in range(7)], padname=[f"p{i}" for i in range(7)], coordsystem="local",
             referencelocation=me.position("wgs84", "21.44deg", "-30.71deg", "1000m"))
sm.setspwindow(spwname="L1", freq="1.4GHz", deltafreq="1MHz", freqresolution="1MHz", nchannels=8, stokes="XX XY YX YY")
sm.setspwindow(spwname="L2", freq="1.6GHz", deltafreq="2MHz", freqresolution="2MHz", nchannels=4, stokes="XX YY")
sm.setfeed("perfect X Y")
sm.setfield(sourcename="cal", sourcedirection=me.direction("J2000", "19h39m25s", "-63d42m45s"))
sm.setfield(sourcename="target", sourcedirection=me.direction("J2000", "20h00m00s", "-60d00m00s"))
sm.setauto(0.0)
sm.settimes(integrationtime="8s", usehourangle=True, referencetime=me.epoch("utc", "2023/05/05/03:00:00"))
for window in "L1", "L2":
    sm.observe("cal", window, starttime="-60s", stoptime="0s")
    sm.observe("target", window, starttime="0s", stoptime="60s")
sm.close()
gains = random.normal(size=7) + 1j * random.normal(size=7) + 3
t = casatools.table()
t.open("casa.ms", nomodify=False)
for row in range(t.nrows()):
    data = np.zeros_like(t.getcell("DATA", row))
    data[[0, -1]] = 2 * gains[t.getcell("ANTENNA1", row)] * np.conj(gains[t.getcell("ANTENNA2", row)])
    t.putcell("DATA", row, data)
t.close()
split("casa.ms", "split.ms", datacolumn="data", field="1", spw="0")
split("casa.ms", "first.ms", datacolumn="data", field="0", spw="0")
mstransform("casa.ms", "averaged.ms", datacolumn="data", field="1", spw="1", chanaverage=True, chanbin=2, timeaverage=True, timebin="16s")
mstransform("casa.ms", "spectrum.ms", datacolumn="data", field="0", usewtspectrum=True)
mstransform("casa.ms", "multi.ms", datacolumn="data", createmms=True, separationaxis="spw")
concat(["first.ms", "split.ms"], "concat.ms")
virtualconcat(["first.ms", "split.ms"], "virtual.ms", keepcopy=True)
exportuvfits("split.ms", "split.uvfits", datacolumn="data")
importuvfits("split.uvfits", "uvfits.ms")
flagdata("split.ms", mode="manual", antenna="m03")
clearcal("split.ms", addmodel=True)
phaseshift("split.ms", "shifted.ms", datacolumn="data", phasecenter="J2000 20h01m00s -60d10m00s")
'''
with open("casa.py", "w") as script:
    script.write(casa)
call("env", f"HOME={os.getcwd()}/home", sys.executable, "casa.py")

for name, more in ("dp3", ["steps=[average]", "average.timestep=2", "average.freqstep=2"]), ("dysco", ["steps=[]", "msout.storagemanager=dysco"]):
    call(bin + "/DP3.py", "msin=split.ms", "msin.datacolumn=DATA", f"msout={name}.ms", *more)

call(bin + "/simms", "telsim", "-tel", "kat-7", "-dir", "J2000,20h00m00s,-60d00m00s", "-sha", "-1", "-dt", "10", "-nt", "6",
     "-st", "2024-03-14T06:15:10", "-sf", "1.4GHz", "-df", "1MHz", "-nc", "4", "-corr", "XX,XY,YX,YY", "simms.ms")
import casacore.tables as ct
random = np.random.default_rng(2)
gains = random.normal(size=7) + 1j * random.normal(size=7) + 3
t = ct.table("simms.ms", readonly=False, ack=False)
data = np.zeros_like(t.getcol("DATA"))
data[..., [0, 3]] = (2 * gains[t.getcol("ANTENNA1")] * np.conj(gains[t.getcol("ANTENNA2")]))[:, None, None]
t.putcol("DATA", data)
t.close()

from pyuvdata import UVData, Telescope
from astropy.coordinates import EarthLocation
from astropy.time import Time
import astropy.units as u
stations = {i: random.normal(size=3) * [200, 200, 2] for i in range(6)}
array = Telescope.new(location=EarthLocation.from_geodetic(21.44 * u.deg, -30.71 * u.deg, 1000 * u.m), name="HERA", instrument="x",
                      antenna_positions=stations, antenna_names=[f"HH{i}" for i in range(6)], feeds=["x", "y"],
                      mount_type="fixed", x_orientation="east")
sky = UVData.new(freq_array=1.5e8 + 1e5 * np.arange(6), polarization_array=["xx", "yy"], channel_width=1e5, telescope=array,
                 times=Time("2023-05-05T03:00:00").jd + np.arange(4) * 8 / 86400, integration_time=8.0,
                 antpairs=[(i, j) for i in range(6) for j in range(i, 6)], do_blt_outer=True, empty=True)
sky.phase(lon=np.radians(300), lat=np.radians(-30.7), cat_name="field", phase_frame="icrs", epoch=2000.0)
sky.data_array[:] = (2 * gains[sky.ant_1_array] * np.conj(gains[sky.ant_2_array]))[:, None, None]
sky.write_ms("pyuvdata.ms", fix_autos=True)
