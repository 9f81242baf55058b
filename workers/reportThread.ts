// Entry of the thread that draws a report: to load the plotting library and to draw takes half a second or more, in
// which a worker's event loop would answer nobody. Nothing else may load the renderer (.dependency-cruiser.cjs).
import { parentPort, workerData } from 'node:worker_threads';
import type { ReportData } from '../report/data.js';
import { renderReport } from '../report/renderReport.js';

parentPort!.postMessage(renderReport(workerData as ReportData));
