# SPDX-License-Identifier: Apache-2.0

"""Calls in a process of their own, which is killed when its time is up."""
import multiprocessing

from values import Untranslatable


def within(seconds, function, *arguments):
    """function(*arguments), whose result must be plain data. Its Untranslatable is raised here, too, and so is one where it took longer or its process died."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)

    def call():
        try:
            sender.send((function(*arguments), None))
        except Untranslatable as error:
            sender.send((None, str(error)))

    process = context.Process(target=call, daemon=True)
    process.start()
    sender.close()
    try:
        if not receiver.poll(seconds):
            raise Untranslatable(f"torch.export took more than {seconds} s")
        result, why = receiver.recv()
    except EOFError:
        process.join()
        raise Untranslatable(f"torch.export ended its process with status {process.exitcode}") from None
    finally:
        process.kill()
        process.join()
        receiver.close()
    if why is not None:
        raise Untranslatable(why)
    return result
