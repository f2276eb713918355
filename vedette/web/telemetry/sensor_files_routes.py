"""Files of the sensor protocol: uploads of program copies, downloads of update packages."""

import re
from typing import Annotated, Final

from anyio import to_thread
from fastapi import Depends, Request
from starlette.responses import Response

from vedette.errors import BadRequestError
from vedette.limits import Limit
from vedette.respond.binary_copies import OfferedFile, WrongOffsetError
from vedette.respond.package_files import open_sensor_package
from vedette.state.devices.update_progress import note_download
from vedette.web.http.access import principal_of
from vedette.web.http.bodies.request_bodies import decoded_body
from vedette.web.http.responses import file_answer, json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.services import Services, services
from vedette.web.json.parameters import described, whole_number
from vedette.web.telemetry.sensor_messages import Offer, message

COPIED_PIECE_BYTES_MAX: Limit[int] = 8 * 1024 * 1024
"""Bytes per piece of a copied program."""


router = Router(prefix="/sensor/v1", tags=["sensor protocol"])

Here = Annotated[Services, Depends(services)]

_SHA256: Final = re.compile(r"[0-9a-f]{64}")


@router.post("/binaries/offer", right=Right.SENSOR, summary="Offer files")
async def offer(request: Request, here: Here) -> Response:
    """Returns the files to send, and the offset to start from, so that interrupted uploads
    resume."""
    principal = principal_of(request)
    sent = await message(request, Offer, principal)
    files = [
        OfferedFile(one.sha256.lower(), one.md5.lower(), one.size, one.path) for one in sent.files
    ]
    wanted = await to_thread.run_sync(
        here.copies.offer,
        principal.sensor_id,
        files,
        here.clock.now_us(),
        limiter=here.copy_threads,
    )
    return json_answer({"want": [{"sha256": one.sha256, "offset": one.offset} for one in wanted]})


@router.put(
    "/binaries/{sha256}",
    right=Right.SENSOR,
    summary="Send a piece of a file",
    openapi_extra=described(("offset", "Where the piece begins, in bytes; default 0")),
)
async def put(sha256: str, request: Request, here: Here) -> Response:
    """Returns the number of bytes received so far. 409 has the expected offset in `received`; 400
    `hash_mismatch` means that the file was discarded."""
    name, offset = sha256.lower(), whole_number(request.query_params, "offset", 0)
    if not _SHA256.fullmatch(name):
        raise BadRequestError("sha256: 64 hexadecimal digits")
    most = COPIED_PIECE_BYTES_MAX
    piece = await decoded_body(request, most, most, bytes)
    try:
        received = await to_thread.run_sync(
            here.copies.put,
            principal_of(request).sensor_id,
            name,
            offset,
            piece,
            here.clock.now_us(),
            limiter=here.copy_threads,
        )
    except WrongOffsetError as error:
        body = {"reason": "conflict", "message": str(error), "received": error.received}
        return json_answer(body, 409)
    return json_answer({"received": received})


@router.get(
    "/packages/{sha256}", right=Right.SENSOR, summary="Download the package of an update order"
)
def package(sha256: str, request: Request, here: Here) -> Response:
    """Returns the package. It is verified before the first byte is sent."""
    file = open_sensor_package(here.database, here.blobs, sha256)
    sensor_id = principal_of(request).sensor_id
    if here.update_targets.waits(sensor_id):
        with here.database.writing() as connection:
            note_download(connection, sensor_id, sha256)
    return file_answer(file)
