// Entry of the thread that renders a report. Loading the plotting library and rendering take half a second or more,
// which would block the event loop of a worker. Nothing else imports the renderer (.dependency-cruiser.cjs).
import { parentPort, workerData } from 'node:worker_threads';
import type { ReportData } from '../report/data.js';
import { renderReport } from '../report/renderReport.js';

parentPort!.postMessage(renderReport(workerData as ReportData));
