# Sets that are fitted and corrected, for test-solved-sets.sh. A source at the phase centre: the model is the same everywhere.
import os, shutil, subprocess, sys
import casacore.tables as ct
import h5py
import numpy as np

GROVE = sys.argv[1]
SKY = {'I': 2, 'Q': .6, 'U': .3, 'V': .4}
ANTENNAS = 5
failed = False


def fail(what):
    global failed
    failed = True
    print('FAIL:', what)


def make(path, times, frequencies, correlations=(9, 10, 11, 12), interval=10., width=1e6, scans=None):
    shutil.rmtree(path, ignore_errors=True)
    t = ct.default_ms(path, ct.maketabdesc([ct.makearrcoldesc('DATA', 0j, ndim=2, valuetype='complex')]))
    pairs = [(p, q) for p in range(ANTENNAS) for q in range(p + 1, ANTENNAS)]
    n, shape = len(times) * len(pairs), (len(times) * len(pairs), len(frequencies), len(correlations))
    t.addrows(n)
    for name, numbers in (('TIME', 4.9e9 + np.repeat(times, len(pairs))), ('INTERVAL', np.full(n, interval)), ('EXPOSURE', np.full(n, interval)),
                          ('ANTENNA1', np.tile([p for p, q in pairs], len(times))), ('ANTENNA2', np.tile([q for p, q in pairs], len(times))),
                          ('SCAN_NUMBER', np.repeat(np.ones(len(times)) if scans is None else scans, len(pairs))),
                          ('UVW', np.random.default_rng(1).uniform(-300, 300, (n, 3))), ('FLAG', np.zeros(shape, bool)), ('DATA', np.zeros(shape)),
                          ('WEIGHT', np.ones((n, shape[2]))), ('SIGMA', np.ones((n, shape[2])))):
        put(t, name, numbers)
    for name in ('TIME_CENTROID', 'DATA_DESC_ID', 'FIELD_ID', 'FEED1', 'FEED2', 'ARRAY_ID', 'OBSERVATION_ID', 'PROCESSOR_ID', 'STATE_ID', 'FLAG_ROW'):
        put(t, name, t.getcol('TIME') if name == 'TIME_CENTROID' else np.zeros(n))

    def subtable(name, rows, **cells):
        s = ct.table(path + '/' + name, readonly=False, ack=False)
        s.addrows(rows)
        for column, value in cells.items():
            for i in range(rows):
                s.putcell(column, i, value[i] if isinstance(value, list) else value)
        s.close()
    place = [np.array([-1601185., -5041977., 3554875.]) + x for x in np.random.default_rng(2).uniform(-300, 300, (ANTENNAS, 3))]
    subtable('ANTENNA', ANTENNAS, NAME=['A%d' % i for i in range(ANTENNAS)], STATION='P', TYPE='GROUND-BASED', MOUNT='ALT-AZ', POSITION=place,
             OFFSET=np.zeros(3), DISH_DIAMETER=25., FLAG_ROW=False)
    centre = np.array([[1.5, .87]])
    subtable('FIELD', 1, NAME='F', PHASE_DIR=centre, DELAY_DIR=centre, REFERENCE_DIR=centre, NUM_POLY=0, SOURCE_ID=-1, TIME=4.9e9)
    widths = np.full(len(frequencies), width)
    subtable('SPECTRAL_WINDOW', 1, CHAN_FREQ=np.array(frequencies), CHAN_WIDTH=widths, EFFECTIVE_BW=widths, RESOLUTION=widths,
             NUM_CHAN=len(frequencies), REF_FREQUENCY=frequencies[0], MEAS_FREQ_REF=5, TOTAL_BANDWIDTH=1e6, NAME='W')
    subtable('POLARIZATION', 1, NUM_CORR=len(correlations), CORR_TYPE=np.array(correlations, np.int32),
             CORR_PRODUCT=np.zeros((len(correlations), 2), np.int32))
    subtable('DATA_DESCRIPTION', 1, SPECTRAL_WINDOW_ID=0, POLARIZATION_ID=0)
    subtable('OBSERVATION', 1, TELESCOPE_NAME='T', TIME_RANGE=np.array([4.9e9, 4.9e9 + 1e3]))
    t.close()
    with open('s.skymodel', 'w') as sky:
        sky.write('format = Name, Type, Ra, Dec, %s\na, POINT, %.15frad, %.15frad, %s\n' % (', '.join(SKY), 1.5, .87, ', '.join(map(str, SKY.values()))))


def put(table, name, numbers):
    kind = {'complex': np.complex64, 'float': np.float32, 'double': float, 'boolean': bool, 'int': np.int32}[table.getcoldesc(name)['valueType']]
    table.putcol(name, np.asarray(numbers).astype(kind))


def write(path, name, numbers):
    t = ct.table(path, readonly=False, ack=False)
    put(t, name, numbers)
    t.close()


def read(path, name):
    t = ct.table(path, ack=False)
    numbers = t.getcol(name)
    t.close()
    return numbers


def run(tree, **settings):
    command = [GROVE, 'run', '-q', tree, '--precision', 'double']
    for name, value in settings.items():
        command += ['-s', '%s=%s' % (name, value)]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def near(found, wanted, what, most=1e-5):
    off = np.sqrt((abs(found - wanted)**2).sum() / (abs(wanted)**2).sum())
    if not off < most:
        fail('%s: off by %.2g' % (what, off))


def gains(path, seed, number, along):
    """Random gains, [number][antenna]; sets DATA to those of its time or channel, times the model, which is returned."""
    a1, a2 = read(path, 'ANTENNA1'), read(path, 'ANTENNA2')
    rng = np.random.default_rng(seed)
    g = rng.uniform(.7, 1.3, (max(number) + 1, ANTENNAS)) * np.exp(1j * rng.uniform(-1, 1, (max(number) + 1, ANTENNAS)))
    g = g[np.asarray(number)]
    shape = read(path, 'DATA').shape
    if along == 'freq':
        G = (g[:, a1] * g[:, a2].conj()).T[..., None]
    else:
        t = np.repeat(np.arange(len(number)), shape[0] // len(number))
        G = (g[t, a1] * g[t, a2].conj())[:, None, None]
    M = np.broadcast_to(np.array([SKY['I'] + SKY['Q'], SKY['U'] + 1j * SKY['V'], SKY['U'] - 1j * SKY['V'], SKY['I'] - SKY['Q']]), shape)
    write(path, 'DATA', M * G)
    return M, G


def calibrate(path, **settings):
    code, said = run('calibrate.tree', ms=path, sky='s.skymodel', smear='none', solutions='g.h5', overwrite='true', **settings)
    if code:
        fail('%s: %s' % (settings, said))


def applied(path, M, what):
    code, said = run('apply.tree', ms=path, solutions='g.h5', corrected='X')
    if code or said:
        fail('%s: %s' % (what, said))
    near(read(path, 'X'), M, what)


def overlap():
    """Channels and slots that are wider than their spacing."""
    channels = 1.4e9 + 1e6 * np.arange(5)
    for wide in (1, 1.9, 2.1, 3):
        make('a.ms', 10. * np.arange(3), channels, width=wide * 1e6)
        M, _ = gains('a.ms', 3, range(5), 'freq')
        calibrate('a.ms', kind='bandpass')
        applied('a.ms', M, 'channels of %g spacings' % wide)
        make('a.ms', 10. * np.arange(6), channels[:1], interval=wide * 10)
        M, _ = gains('a.ms', 4, range(6), 'time')
        calibrate('a.ms', time='slot')
        applied('a.ms', M, 'slots of %g spacings' % wide)
    # the last interval is shorter than a slot
    make('a.ms', 10. * np.arange(5), channels[:1], interval=30.)
    M, _ = gains('a.ms', 5, [0, 0, 0, 0, 1], 'time')
    calibrate('a.ms', time='50s')
    applied('a.ms', M, 'a short last interval of slots that overlap')


def nearest(path, G):
    """The largest difference from G of the products of gains that programs find which take the nearest time and channel."""
    t, s = read(path, 'TIME'), ct.table(path + '/SPECTRAL_WINDOW', ack=False)
    f = s.getcell('CHAN_FREQ', 0)
    s.close()
    with h5py.File('g.h5') as h:
        a, p = h['sol000/amplitude000'], h['sol000/phase000']
        i = abs(t[:, None] - a['time'][:]).argmin(1)
        k = abs(f[:, None] - a['freq'][:]).argmin(1)
        g = a['val'][:] * np.exp(1j * p['val'][:])
    g = g[..., 0][i][:, k]
    row = np.arange(len(t))
    found = g[row, :, read(path, 'ANTENNA1')] * g[row, :, read(path, 'ANTENNA2')].conj()
    return abs(found[..., None] - G).max()


def last():
    """The last interval of a scan, or of the channels, has fewer slots: its time is the middle of a whole one, as DP3 writes it."""
    def case(what, times, scans, number, found, dp3=True, **settings):
        times = np.array(times)
        make('a.ms', times, 1.4e9 + 1e6 * np.arange(2), scans=scans)
        M, G = gains('a.ms', 6, number, 'time')
        calibrate('a.ms', **settings)
        with h5py.File('g.h5') as h:
            centre = h['sol000/amplitude000/time'][:] - 4.9e9
        if len(centre) != len(found) or abs(centre - found).max() > 1e-3:
            fail('%s: the times are %s, not %s' % (what, centre, found))
        if dp3 and nearest('a.ms', G) > 1e-5:
            fail('%s: the nearest times have other gains, by %g' % (what, nearest('a.ms', G)))
        applied('a.ms', M, what)
    slots = 5 + 10. * np.arange(25)
    # DP3 on 25 slots with solint=7: 35, 105, 175, 245 s from the begin of the first
    case('25 slots', slots, None, np.arange(25) // 7, [35, 105, 175, 245], time='70s')
    two = np.concatenate([slots[:12], slots[:11] + 400])
    number = np.concatenate([np.arange(12) // 5, 3 + np.arange(11) // 5])
    case('two scans', two, np.repeat([1, 2], [12, 11]), number, [25, 75, 125, 425, 475, 525], time='50s')
    close = np.concatenate([slots[:12], slots[:11] + 120])
    case('scans without a gap', close, np.repeat([1, 2], [12, 11]), number, [25, 75, 125, 145, 195, 245], dp3=False, time='50s')
    case('a scan that is shorter than an interval', two, np.repeat([1, 2], [12, 11]), np.repeat([0, 1], [12, 11]), [60, 455], time='1000s')
    make('a.ms', slots[:2], 1.4e9 + 1e6 * np.arange(8))
    M, G = gains('a.ms', 7, np.arange(8) // 3, 'freq')
    calibrate('a.ms', freq='3MHz', time='all')
    with h5py.File('g.h5') as h:
        centre = h['sol000/amplitude000/freq'][:]
    if abs(centre - 1.4e9 - [1e6, 4e6, 7e6]).max() > 1:
        fail('freq is %s' % centre)
    if nearest('a.ms', G) > 1e-5:
        fail('the nearest channels have other gains')
    applied('a.ms', M, 'channels')


BRIGHTNESS = {'linear': np.array([2.6, .3 + .4j, .3 - .4j, 1.4]), 'circular': np.array([2.4, .6 + .3j, .6 - .3j, 1.6]), 'I': np.array([2.])}


def brightness(correlations):
    if correlations == (1,):
        return BRIGHTNESS['I']
    return np.array([BRIGHTNESS['linear' if code > 8 else 'circular'][(code - 5) % 4] for code in correlations])


def measured(correlations, J):
    """Data J_p B J_q^H of these correlations, J [antenna][2][2]; returns B of them and the rows' J."""
    make('a.ms', 10. * np.arange(3), 1.4e9 + 1e6 * np.arange(2), correlations)
    a1, a2 = read('a.ms', 'ANTENNA1'), read('a.ms', 'ANTENNA2')
    B = BRIGHTNESS['circular' if 4 < correlations[0] < 9 else 'linear'].reshape(2, 2)
    V = (J[a1] @ B @ np.conj(np.swapaxes(J[a2], 1, 2))).reshape(-1, 4)
    V = (V[:, 0] + V[:, 3])[:, None] / 2 if correlations == (1,) else V[:, [(code - 5) % 4 for code in correlations]]
    write('a.ms', 'DATA', np.broadcast_to(V[:, None], read('a.ms', 'DATA').shape))
    return brightness(correlations)


def refused(done, what, *words):
    code, said = done
    if not code or not all(word in said for word in words):
        fail('%s: exit %d: %s' % (what, code, said))


def correlations():
    """Sets without all correlations: what is there is fitted; what needs others is refused."""
    rng = np.random.default_rng(8)
    scalar = (rng.uniform(.7, 1.3, ANTENNAS) * np.exp(1j * rng.uniform(-1, 1, ANTENNAS)))[:, None, None] * np.eye(2)
    diagonal = scalar * np.array([1, 1.2 * np.exp(.2j)])
    for code in ((9,), (12,), (8,), (1,), (5, 8), (12, 11), (9, 10, 11, 12)):
        B = measured(code, scalar)
        calibrate('a.ms', kind='scalar')
        near(read('a.ms', 'CORRECTED_DATA'), B + 0 * read('a.ms', 'DATA'), 'scalar, %s' % (code,))
        with h5py.File('g.h5') as h:
            near(h['sol000/amplitude000/val'][:].ravel(), abs(scalar[:, 0, 0]), 'amplitudes, %s' % (code,))
        if code == (1,):
            refused(run('calibrate.tree', ms='a.ms', sky='s.skymodel', corrected='none'), 'diagonal, I', 'Stokes I alone')
            continue
        B = measured(code, diagonal)
        calibrate('a.ms', kind='diagonal', reference=2)
        near(read('a.ms', 'CORRECTED_DATA'), B + 0 * read('a.ms', 'DATA'), 'diagonal, %s' % (code,))
        if read('a.ms', 'FLAG').any():
            fail('%s: flags' % (code,))
        with h5py.File('g.h5') as h:
            a, p = h['sol000/amplitude000'], h['sol000/phase000']
            v, w, phase = a['val'][:].reshape(-1, 2), a['weight'][:].reshape(-1, 2), p['val'][:].reshape(-1, 2)
        for e in (0, 1) if len(code) == 1 or code == (5, 8) else ():
            if any((c - 5) % 4 == 3 * e for c in code):
                if (w[:, e] != 1).any() or abs(phase[2, e]) > 1e-6:
                    fail('%s: weights %s, phases %s' % (code, w, phase))
            elif not np.isnan(v[:, e]).all() or w[:, e].any():
                fail('%s: gains without data: %s of weight %s' % (code, v, w))
        if len(code) < 4:
            refused(run('calibrate.tree', ms='a.ms', sky='s.skymodel', kind='full', corrected='none'), 'full, %s' % (code,), 'jones=full')
    # a full table on each
    J = np.eye(2) + .2 * (rng.normal(size=(ANTENNAS, 2, 2)) + 1j * rng.normal(size=(ANTENNAS, 2, 2)))
    with h5py.File('g.h5', 'w') as h:
        for name, numbers in (('amplitude', abs(J)), ('phase', np.angle(J))):
            group = h.create_group('sol000/%s000' % name)
            group.attrs['TITLE'] = np.bytes_(name)
            for part, value in (('val', numbers), ('weight', np.ones_like(numbers))):
                group.create_dataset(part, data=value.reshape(-1, 4)).attrs['AXES'] = np.bytes_('ant,pol')
            group.create_dataset('ant', data=np.array(['A%d' % i for i in range(ANTENNAS)], 'S4'))
            group.create_dataset('pol', data=np.array(['XX', 'XY', 'YX', 'YY'], 'S2'))
    measured((9, 10, 11, 12), J)
    applied('a.ms', BRIGHTNESS['linear'] + 0 * read('a.ms', 'DATA'), 'full, four correlations')
    for code in ((9, 12), (9,), (12,), (1,), (9, 10), (9, 10, 11)):
        measured(code, J)
        refused(run('apply.tree', ms='a.ms', solutions='g.h5', corrected='X'), 'full, %s' % (code,), 'obs.data', 'Stokes I' if code == (1,) else 'has no')
        if 'X' in ct.table('a.ms', ack=False).colnames():
            fail('X was written')


def copies():
    """New sets and columns have the correlations that the visibilities are of, in the same order."""
    rng = np.random.default_rng(9)
    def tree(text):
        with open('t.tree', 'w') as file:
            file.write('obs = ms("a.ms")\n' + text + '\n')
        shutil.rmtree('new.ms', ignore_errors=True)
        return run('t.tree')
    for code in ((12,), (8,), (1,), (12, 9), (12, 11), (5, 8, 6, 7), (9, 10, 12)):
        make('a.ms', 10. * np.arange(2), 1.4e9 + 1e6 * np.arange(2), code)
        shape = read('a.ms', 'DATA').shape
        write('a.ms', 'DATA', rng.normal(size=shape) + 1j * rng.normal(size=shape))
        write('a.ms', 'WEIGHT', rng.uniform(.5, 2, (shape[0], shape[2])))
        write('a.ms', 'FLAG', rng.random(shape) < .2)
        for text, factor in (('sink(obs.data, obs, to="new.ms")', 1), ('sink(2 * obs.data - mean(obs.data, over=time), obs, to="new.ms")', None)):
            done, said = tree(text)
            if done or said:
                fail('%s, %s: %s' % (code, text, said))
                continue
            found = ct.table('new.ms/POLARIZATION', ack=False).getcell('CORR_TYPE', 0)
            if tuple(found) != code:
                fail('%s: the copy has %s' % (code, found))
            elif factor:
                good = ~read('a.ms', 'FLAG')
                if (read('new.ms', 'FLAG') == good).any() or abs(read('new.ms', 'DATA') - read('a.ms', 'DATA'))[good].max() > 0:
                    fail('%s: the copy is another' % (code,))
                if abs(read('new.ms', 'WEIGHT') - read('a.ms', 'WEIGHT')).max() > 1e-6:
                    fail('%s: the weights of the copy' % (code,))
    # what was not measured is not written
    make('a.ms', 10. * np.arange(2), [1.4e9], (12,))
    write('a.ms', 'DATA', np.ones((20, 1, 1)))
    make('b.ms', 10. * np.arange(2), [1.4e9])
    refused(tree('b = ms("b.ms")\nsink(obs.data, b, column="X", to="b.ms")'), 'YY into a set of four', 'from a set without XX')
    refused(tree('sink(trace(obs.data), obs, to="new.ms")'), 'trace', 'trace', 'without all correlations')
    make('a.ms', 10. * np.arange(2), [1.4e9], (9, 10))
    refused(tree('sink(select(obs.data, element=YY), obs, to="new.ms")'), 'YY of XX XY', 'obs.data', 'has no YY')


def images():
    """What an image of Stokes I is made of is said where that is one correlation; without its correlations it is refused."""
    for code, said in (((9,), 'XX only'), ((12,), 'YY only'), ((8,), 'LL only'), ((1,), ''), ((9, 12), ''), ((10,), None), ((9, 10, 11), None)):
        make('a.ms', 10. * np.arange(2), [1.4e9], code)
        write('a.ms', 'DATA', np.ones((20, 1, len(code))))
        with open('t.tree', 'w') as file:
            file.write('obs = ms("a.ms")\nsave(dirty_image(obs.data, obs, size=32), to="i.csv", overwrite=true)\n')
        done, words = run('t.tree')
        if said is None:
            refused((done, words), '%s' % (code,), "'I' needs", 'which the data do not have')
        elif done or said not in words or (not said and words):
            fail('%s: exit %d: %s' % (code, done, words))
    # a set without a column that all have
    kept = [name for name in ct.table('a.ms', ack=False).colnames() if not name.startswith('WEIGHT')]
    shutil.rmtree('b.ms', ignore_errors=True)
    ct.taql('select %s from a.ms' % ','.join(kept)).copy('b.ms', deep=True)
    with open('t.tree', 'w') as file:
        file.write('obs = ms("b.ms")\nprint(mean(obs.weight))\n')
    refused(run('t.tree'), 'no WEIGHT', 'b.ms: ', 'has no column WEIGHT')


for name in sys.argv[2:]:
    globals()[name]()
sys.exit(failed)
