# Runs in T, the process of the tests, if their style is pytest: runs pytest with a plugin that reports every test.
import inspect
import os

FOLDER = '/tmp/tests'
PYTEST_OPTIONS = (
    '-p no:terminal -p no:cacheprovider -p no:doctest -p no:junitxml -p no:pastebin -p no:nose -p no:faulthandler '
    '-p no:stepwise -p no:setuponly -p no:setupplan -p no:logging -p no:debugging -p no:unraisableexception '
    '-p no:threadexception -p no:legacypath --capture=sys --continue-on-collection-errors'
).split()


def make_plugin(pytest, skips):
    class Reports:
        """Reports the start and the outcome of every test. A file that pytest cannot collect is reported as one error."""

        def pytest_addoption(self, parser):  # other plugins read these options, which disabled plugins would define
            parser.addoption('--verbose', action='count', default=0, dest='verbose')
            parser.addoption('--trace', action='store_true', dest='trace')
            parser.addoption('--pdb', action='store_true', dest='usepdb')

        @pytest.hookimpl(hookwrapper=True)
        def pytest_make_collect_report(self, collector):
            is_file = isinstance(collector, pytest.Module)
            if is_file:
                report(begin=collector.nodeid)
            outcome = yield
            if is_file:
                failed = outcome.get_result().failed
                text = str(outcome.get_result().longrepr).strip().split('\n')[-1].lstrip('E ')[:300] if failed else None
                report(end=[collector.nodeid, 'error' if failed else None, text])

        def pytest_collection_modifyitems(self, items):
            report(tests=[item.nodeid for item in items])
            items[:] = [item for item in items if not skips(item.nodeid)]
            for item in items:
                if inspect.isgeneratorfunction(getattr(item, 'obj', None)):
                    item.own_markers.clear()  # with its marker, pytest would leave out this test

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_call(self, item):
            if hasattr(item, 'obj'):
                item.obj = checked(item.obj)

        @pytest.hookimpl(hookwrapper=True, tryfirst=True)
        def pytest_runtest_protocol(self, item):
            report(begin=item.nodeid)
            item.repr_failure = lambda error, style=None: say(error.value)  # long tracebacks are not shown
            self.verdicts, self.message = [], None
            yield
            rank = ('error', 'fail', None, 'pass')
            report(end=[item.nodeid, min(self.verdicts or ['error'], key=rank.index), self.message])

        @pytest.hookimpl(hookwrapper=True, tryfirst=True)
        def pytest_runtest_makereport(self, item, call):
            outcome = yield
            result = outcome.get_result()
            error = call.excinfo.value if call.excinfo else None
            if result.when != 'call' and result.passed:
                return
            if result.passed:
                verdict = 'pass'
            elif result.skipped:
                if error is not None and is_from_program(error) and not hasattr(result, 'wasxfail'):
                    verdict = 'error'
                else:
                    verdict = 'pass' if hasattr(result, 'wasxfail') and result.when == 'call' else None
            elif result.when == 'call':
                verdict = 'fail' if error is None else verdict_of(error) or 'error'
            else:
                verdict = 'error'
            self.verdicts.append(verdict)
            if verdict in ('fail', 'error'):
                self.message = (say(error) if error is not None else str(result.longrepr))[:300]

    return Reports()


def with_names(text):
    """Puts an import of pytest and of the program's names before a text. Tests need not import them."""
    first = re.match(r'(?:.*^from __future__ import (?:\([^)]*\)|[^\n]*)\n)?', text, re.S | re.M).end()
    return text[:first] + 'import pytest; from solution import *\n' + text[first:]


def write_files(files):
    for name, text in files.items():
        path = os.path.join(FOLDER, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='utf-8', errors='surrogatepass') as file:
            file.write(with_names(text) if name.endswith('.py') else text)


def run_pytest(files, skips):
    import pytest

    os.makedirs(FOLDER, exist_ok=True)
    write_files(files)
    os.chdir(FOLDER)
    names = [name for name in files if name.endswith('.py') and not name.endswith('conftest.py')]
    usual = [name for name in names if os.path.basename(name).startswith('test_') or name.endswith('_test.py')]
    arguments = [*PYTEST_OPTIONS, '-c', '/dev/null', '--rootdir', FOLDER, *(usual or names)]
    pytest.main(arguments, plugins=[make_plugin(pytest, skips)])
