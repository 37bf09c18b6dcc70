import {Engine} from './engine.js';
import {startProgram} from './program.js';
import {startReason} from './reason.js';
import {startSolve} from './solve.js';

const byId = (id) => document.getElementById(id);
const tabs = [...document.querySelectorAll('[role=tab]')];
const opened = {};

function show(tab, focus = false) {
  for (const other of tabs) {
    const chosen = other === tab;
    other.setAttribute('aria-selected', chosen);
    other.tabIndex = chosen ? 0 : -1;
    byId(other.getAttribute('aria-controls')).hidden = !chosen;
  }
  if (focus) tab.focus();
  history.replaceState(null, '', '#' + tab.getAttribute('aria-controls'));
  opened[tab.getAttribute('aria-controls')]?.();
}

for (const [k, tab] of tabs.entries()) {
  tab.onclick = () => show(tab);
  tab.onkeydown = (event) => {
    const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (step) show(tabs[(k + step + tabs.length) % tabs.length], true);
  };
}

if ('serviceWorker' in navigator) {
  navigator.serviceWorker.register('sw.js')
    .then(() => navigator.serviceWorker.ready)
    .then(() => { document.documentElement.dataset.offline = 'ready'; })
    .catch(() => {});  // not over plain http from another machine
}

const boards = new Engine();
const solve = startSolve(boards);
opened.reason = startReason(boards, solve);
opened.program = startProgram(new Engine(15));

const wanted = tabs.find((tab) => '#' + tab.getAttribute('aria-controls') === location.hash);
if (wanted) show(wanted);
